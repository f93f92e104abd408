model vanDerPol "Van der Pol's oscillator"
  parameter Real mu(min = 0, max = 20) = 1 "Damping";
  parameter Real w(unit = "rad/s", min = 0.01, max = 100) = 1 "Frequency";
  Real x(start = 2, fixed = true) "Deflection";
  Real y(start = 0, fixed = true) "Its rate over w";
  output Real x_out "Deflection as measured";
  output Real power "x times y";
equation
  der(x) = w*y;
  der(y) = w*(mu*(1 - x^2)*y - x);
  x_out = x;
  power = x*y;
end vanDerPol;
