within Modelica.Blocks;
package Continuous "Linear dynamics"
  import Modelica.Blocks.Interfaces;
  import Modelica.Blocks.Types.Init;
  import Modelica.Units.SI;

  block Integrator
    parameter Real k = 1 "Factor";
    parameter Boolean use_reset = false;
    parameter Boolean use_set = false "Whether it is reset to the input set, not to y_start";
    parameter Init initType = Init.InitialState;
    parameter Real y_start = 0;
    extends Interfaces.SISO;
    Interfaces.BooleanInput reset if use_reset;
    Interfaces.RealInput set if use_reset and use_set;
  protected
    Interfaces.BooleanOutput local_reset;
    Interfaces.RealOutput local_set;
  initial equation
    if initType == Init.SteadyState then
      der(y) = 0;
    elseif initType == Init.InitialState or initType == Init.InitialOutput then
      y = y_start;
    end if;
  equation
    if use_reset then
      connect(reset, local_reset);
      if use_set then
        connect(set, local_set);
      else
        local_set = y_start;
      end if;
      when local_reset then
        reinit(y, local_set);
      end when;
    else
      local_reset = false;
      local_set = 0;
    end if;
    der(y) = k*u;
  end Integrator;

  block Derivative "Derivative of a first-order lag"
    parameter Real k = 1 "Factor";
    parameter SI.Time T(min=Modelica.Constants.small) = 0.01 "Time constant of the lag";
    parameter Init initType = Init.NoInit;
    parameter Real x_start = 0;
    parameter Real y_start = 0;
    extends Interfaces.SISO;
    output Real x(start=x_start) "The lagged input";
  protected
    parameter Boolean zeroGain = abs(k) < Modelica.Constants.eps;
  initial equation
    if initType == Init.SteadyState then
      der(x) = 0;
    elseif initType == Init.InitialState then
      x = x_start;
    elseif initType == Init.InitialOutput then
      if zeroGain then
        x = u;
      else
        y = y_start;
      end if;
    end if;
  equation
    der(x) = if zeroGain then 0 else (u - x)/T;
    y = if zeroGain then 0 else k/T*(u - x);
  end Derivative;

  block FirstOrder "A lag: k/(1 + T s)"
    parameter Real k = 1 "Gain";
    parameter SI.Time T(start=1) "Time constant";
    parameter Init initType = Init.NoInit;
    parameter Real y_start = 0;
    extends Interfaces.SISO(y(start=y_start));
  initial equation
    if initType == Init.SteadyState then
      der(y) = 0;
    elseif initType == Init.InitialState or initType == Init.InitialOutput then
      y = y_start;
    end if;
  equation
    der(y) = (k*u - y)/T;
  end FirstOrder;

  block SecondOrder "An oscillation: k/((s/w)^2 + 2 D s/w + 1)"
    parameter Real k = 1 "Gain";
    parameter Real w(start=1) "Angular frequency";
    parameter Real D(start=1) "Damping ratio";
    parameter Init initType = Init.NoInit;
    parameter Real y_start = 0;
    parameter Real yd_start = 0;
    extends Interfaces.SISO(y(start=y_start));
    output Real yd(start=yd_start) "Derivative of y";
  initial equation
    if initType == Init.SteadyState then
      der(y) = 0;
      der(yd) = 0;
    elseif initType == Init.InitialState or initType == Init.InitialOutput then
      y = y_start;
      yd = yd_start;
    end if;
  equation
    der(y) = yd;
    der(yd) = w*(w*(k*u - y) - 2*D*yd);
  end SecondOrder;

  block PI "Proportional and integral: k (1 + 1/(T s))"
    parameter Real k = 1 "Gain";
    parameter SI.Time T(start=1, min=Modelica.Constants.small) "Time constant";
    parameter Init initType = Init.NoInit;
    parameter Real x_start = 0;
    parameter Real y_start = 0;
    extends Interfaces.SISO;
    output Real x(start=x_start) "Integral of the input, divided by T";
  initial equation
    if initType == Init.SteadyState then
      der(x) = 0;
    elseif initType == Init.InitialState then
      x = x_start;
    elseif initType == Init.InitialOutput then
      y = y_start;
    end if;
  equation
    der(x) = u/T;
    y = k*(x + u);
  end PI;

  block PID "Proportional, integral and derivative: k (1 + 1/(Ti s) + Td s/(1 + Td/Nd s))"
    extends Interfaces.SISO;
    parameter Real k = 1 "Gain";
    parameter SI.Time Ti(min=Modelica.Constants.small, start=0.5) "Time constant of the integral";
    parameter SI.Time Td(min=0, start=0.1) "Time constant of the derivative";
    parameter Real Nd(min=Modelica.Constants.small) = 10 "The larger, the less the derivative lags";
    parameter Init initType = Init.InitialState;
    parameter Real xi_start = 0;
    parameter Real xd_start = 0;
    parameter Real y_start = 0;
    constant SI.Time unitTime = 1;
    Modelica.Blocks.Math.Gain P(k=1);
    Integrator I(k=unitTime/Ti, y_start=xi_start, initType=if initType == Init.SteadyState then
      Init.SteadyState else if initType == Init.InitialState then Init.InitialState else Init.NoInit);
    Derivative D(k=Td/unitTime, T=max(Td/Nd, 100*Modelica.Constants.eps), x_start=xd_start, initType=
      if initType == Init.SteadyState or initType == Init.InitialOutput then Init.SteadyState else
      if initType == Init.InitialState then Init.InitialState else Init.NoInit);
    Modelica.Blocks.Math.Gain Gain(k=k);
    Modelica.Blocks.Math.Add3 Add;
  initial equation
    if initType == Init.InitialOutput then
      y = y_start;
    end if;
  equation
    connect(u, P.u);
    connect(u, I.u);
    connect(u, D.u);
    connect(P.y, Add.u1);
    connect(I.y, Add.u2);
    connect(D.y, Add.u3);
    connect(Add.y, Gain.u);
    connect(Gain.y, y);
  end PID;

  block TransferFunction "Polynomials in s, the highest power first: (b[1] s^m + …)/(a[1] s^n + …)"
    extends Interfaces.SISO;
    parameter Real b[:] = {1} "Numerator";
    parameter Real a[:] = {1} "Denominator";
    parameter Init initType = Init.NoInit;
    parameter Real x_start[size(a, 1) - 1] = zeros(nx);
    parameter Real y_start = 0;
    output Real x[size(a, 1) - 1](start=x_start) "States in controller canonical form";
  protected
    parameter Integer na = size(a, 1);
    parameter Integer nb = size(b, 1);
    parameter Integer nx = size(a, 1) - 1;
    parameter Real bb[:] = vector([zeros(max(0, na - nb), 1); b]) "Numerator, as long as a";
    parameter Real d = bb[1]/a[1] "What passes at once";
    parameter Real a_end = if a[end] > 100*Modelica.Constants.eps*sqrt(a*a) then a[end] else 1.0;
    Real x_scaled[size(x, 1)] "States times a_end: of the size of the input";
  initial equation
    if initType == Init.SteadyState then
      der(x_scaled) = zeros(nx);
    elseif initType == Init.InitialState then
      x_scaled = x_start*a_end;
    elseif initType == Init.InitialOutput then
      y = y_start;
      der(x_scaled[2:nx]) = zeros(nx - 1);
    end if;
  equation
    assert(nb <= na, "The numerator has a higher order than the denominator");
    if nx == 0 then
      y = d*u;
    else
      der(x_scaled[1]) = (a_end*u - a[2:na]*x_scaled)/a[1];
      der(x_scaled[2:nx]) = x_scaled[1:nx - 1];
      y = (bb[2:na] - d*a[2:na])*x_scaled/a_end + d*u;
      x = x_scaled/a_end;
    end if;
  end TransferFunction;

  block StateSpace "der(x) = A x + B u, y = C x + D u"
    parameter Real A[:, size(A, 1)] = [1, 0; 0, 1];
    parameter Real B[size(A, 1), :] = [1; 1];
    parameter Real C[:, size(A, 1)] = [1, 1];
    parameter Real D[size(C, 1), size(B, 2)] = zeros(size(C, 1), size(B, 2));
    parameter Init initType = Init.NoInit;
    parameter Real x_start[nx] = zeros(nx);
    parameter Real y_start[ny] = zeros(ny);
    extends Interfaces.MIMO(final nin=size(B, 2), final nout=size(C, 1));
    output Real x[size(A, 1)](start=x_start);
  protected
    parameter Integer nx = size(A, 1);
    parameter Integer ny = size(C, 1);
  initial equation
    assert(initType <> Init.InitialOutput, "The small library that comes with Estimica cannot begin with
      y_start here; give x_start, or set MODELICAPATH to the whole library");
    if initType == Init.SteadyState then
      der(x) = zeros(nx);
    elseif initType == Init.InitialState then
      x = x_start;
    end if;
  equation
    der(x) = A*x + B*u;
    y = C*x + D*u;
  end StateSpace;
end Continuous;
