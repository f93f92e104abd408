model TwoStates "Two states, of which a product and a quotient are measured"
  parameter Real a1 = 1.2;
  parameter Real a2 = 0.8;
  parameter Real b1 = 1.2;
  parameter Real b2 = 2.5;
  parameter Real x10 = 0.4;
  parameter Real x20 = 1;
  input Real u1;
  input Real u2;
  output Real y1;
  output Real y2;
  Real x1(start = x10, fixed = true);
  Real x2(start = x20, fixed = true);
equation
  der(x1) = -a1*x1 + a2*x2 + u1;
  der(x2) = -b1*x1 - b2*x2 + u2;
  y1 = x1*x2;
  y2 = x2/(1 + x1);
end TwoStates;
