model Tank "A tank that is filled by a pump and drains"
  parameter Real a(unit = "1/s", min = 0, max = 10) = 0.5 "Outflow rate";
  parameter Real b(unit = "m/(A.s)") = 2 "Gain of the pump";
  parameter Real idle = 1 "Nothing follows from it";
  parameter Integer n = 2 "Number of copies";
  final parameter Real g = 9.81 "Gravity";
  parameter Real w[2] = {1, 0} "Weights";
  input Real u(unit = "A") "Current of the pump";
  output Real y(unit = "m") "Level";
  output Real T(unit = "K") "Temperature";
  Real x(unit = "m", start = 1, fixed = true) "Level";
  Real copies[n];
equation
  der(x) = -a*x + b*u;
  y = w[1]*x + w[2];
  T = 300 + x;
  copies = fill(x, n);
end Tank;
