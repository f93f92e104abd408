within Modelica.Blocks;
package Math "Calculations"
  import Modelica.Blocks.Interfaces;

  block Gain "A factor"
    parameter Real k(start=1);
    Interfaces.RealInput u;
    Interfaces.RealOutput y;
  equation
    y = k*u;
  end Gain;

  block MatrixGain "A matrix"
    parameter Real K[:, :] = [1, 0; 0, 1];
    extends Interfaces.MIMO(final nin=size(K, 2), final nout=size(K, 1));
  equation
    y = K*u;
  end MatrixGain;

  block Add "Sum of two"
    extends Interfaces.SI2SO;
    parameter Real k1 = +1;
    parameter Real k2 = +1;
  equation
    y = k1*u1 + k2*u2;
  end Add;

  block Add3 "Sum of three"
    parameter Real k1 = +1;
    parameter Real k2 = +1;
    parameter Real k3 = +1;
    Interfaces.RealInput u1;
    Interfaces.RealInput u2;
    Interfaces.RealInput u3;
    Interfaces.RealOutput y;
  equation
    y = k1*u1 + k2*u2 + k3*u3;
  end Add3;

  block Sum "Weighted sum"
    extends Interfaces.MISO;
    parameter Real k[nin] = ones(nin);
  equation
    y = k*u;
  end Sum;

  block Feedback "A difference"
    Interfaces.RealInput u1;
    Interfaces.RealInput u2;
    Interfaces.RealOutput y;
  equation
    y = u1 - u2;
  end Feedback;

  block Product
    extends Interfaces.SI2SO;
  equation
    y = u1*u2;
  end Product;

  block Division
    extends Interfaces.SI2SO;
  equation
    y = u1/u2;
  end Division;

  block Max "The larger one"
    extends Interfaces.SI2SO;
  equation
    y = max(u1, u2);
  end Max;

  block Min "The smaller one"
    extends Interfaces.SI2SO;
  equation
    y = min(u1, u2);
  end Min;

  block Abs "Absolute value"
    extends Interfaces.SISO;
    parameter Boolean generateEvent = false "Whether the sign is an event";
  equation
    y = if generateEvent then (if u >= 0 then u else -u) else (if noEvent(u >= 0) then u else -u);
  end Abs;

  block Sign
    extends Interfaces.SISO;
    parameter Boolean generateEvent = false "Whether the sign is an event";
  equation
    y = if generateEvent then (if u > 0 then 1 else if u < 0 then -1 else 0) else
      (if noEvent(u > 0) then 1 else if noEvent(u < 0) then -1 else 0);
  end Sign;

  block Sqrt
    extends Interfaces.SISO;
  equation
    y = sqrt(u);
  end Sqrt;

  block Sin
    extends Interfaces.SISO(u(unit="rad"));
  equation
    y = sin(u);
  end Sin;

  block Cos
    extends Interfaces.SISO(u(unit="rad"));
  equation
    y = cos(u);
  end Cos;

  block Tan
    extends Interfaces.SISO(u(unit="rad"));
  equation
    y = tan(u);
  end Tan;

  block Asin
    extends Interfaces.SISO(y(unit="rad"));
  equation
    y = asin(u);
  end Asin;

  block Acos
    extends Interfaces.SISO(y(unit="rad"));
  equation
    y = acos(u);
  end Acos;

  block Atan
    extends Interfaces.SISO(y(unit="rad"));
  equation
    y = atan(u);
  end Atan;

  block Sinh
    extends Interfaces.SISO;
  equation
    y = sinh(u);
  end Sinh;

  block Cosh
    extends Interfaces.SISO;
  equation
    y = cosh(u);
  end Cosh;

  block Tanh
    extends Interfaces.SISO;
  equation
    y = tanh(u);
  end Tanh;

  block Exp
    extends Interfaces.SISO;
  equation
    y = exp(u);
  end Exp;

  block Log "A logarithm"
    extends Interfaces.SISO;
    parameter Real base = Modelica.Constants.e;
  equation
    y = log(u)/log(base);
  end Log;

  block Log10
    extends Interfaces.SISO;
  equation
    y = log10(u);
  end Log10;

  block Atan2
    extends Interfaces.SI2SO(y(unit="rad"));
  equation
    y = atan2(u1, u2);
  end Atan2;

  block BooleanToReal "A number for each value"
    Interfaces.BooleanInput u;
    parameter Real realTrue = 1.0;
    parameter Real realFalse = 0.0;
    Interfaces.RealOutput y;
  equation
    y = if u then realTrue else realFalse;
  end BooleanToReal;

  block RealToBoolean "Whether a number reaches a threshold"
    Interfaces.RealInput u;
    Interfaces.BooleanOutput y;
    parameter Real threshold = 0.5;
  equation
    y = u >= threshold;
  end RealToBoolean;
end Math;
