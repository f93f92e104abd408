within Modelica;
package Math "Functions of numbers"
  import Modelica.Units.SI;
  function sin
    input SI.Angle u;
    output Real y;
    external "builtin" y = sin(u);
  end sin;
  function cos
    input SI.Angle u;
    output Real y;
    external "builtin" y = cos(u);
  end cos;
  function tan
    input SI.Angle u;
    output Real y;
    external "builtin" y = tan(u);
  end tan;
  function asin
    input Real u;
    output SI.Angle y;
    external "builtin" y = asin(u);
  end asin;
  function acos
    input Real u;
    output SI.Angle y;
    external "builtin" y = acos(u);
  end acos;
  function atan
    input Real u;
    output SI.Angle y;
    external "builtin" y = atan(u);
  end atan;
  function sinh
    input Real u;
    output Real y;
    external "builtin" y = sinh(u);
  end sinh;
  function cosh
    input Real u;
    output Real y;
    external "builtin" y = cosh(u);
  end cosh;
  function tanh
    input Real u;
    output Real y;
    external "builtin" y = tanh(u);
  end tanh;
  function exp
    input Real u;
    output Real y;
    external "builtin" y = exp(u);
  end exp;
  function log
    input Real u;
    output Real y;
    external "builtin" y = log(u);
  end log;
  function log10
    input Real u;
    output Real y;
    external "builtin" y = log10(u);
  end log10;
  function atan2
    input Real u1;
    input Real u2;
    output SI.Angle y;
    external "builtin" y = atan2(u1, u2);
  end atan2;
  function asinh "Inverse of sinh; odd, so that small and large numbers of either sign keep their digits"
    input Real u;
    output Real y;
  algorithm
    y := if u < 0 then -Modelica.Math.log(-u + sqrt(u*u + 1)) else Modelica.Math.log(u + sqrt(u*u + 1));
  end asinh;
  function acosh "Inverse of cosh"
    input Real u(min=1.0);
    output Real y;
  algorithm
    y := Modelica.Math.log(u + sqrt(u - 1)*sqrt(u + 1));
  end acosh;
  function wrapAngle "The same angle between -pi and pi, or between 0 and 2 pi"
    input SI.Angle u;
    input Boolean positiveRange = false;
    output SI.Angle y;
  algorithm
    y := mod(u, 2*Modelica.Constants.pi);
    if not positiveRange and y > Modelica.Constants.pi then
      y := y - 2*Modelica.Constants.pi;
    end if;
  end wrapAngle;
end Math;
