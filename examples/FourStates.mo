model FourStates "Nonlinear benchmark with four states and twelve parameters"
  // E. Palmkvist, Lund University, 2014, equation (5.2).
  parameter Real a1(min = 0.1, max = 10) = 1.0 "Product of x1 and x3 in x1";
  parameter Real a2(min = 0.1, max = 10) = 3.0 "x2 in x1";
  parameter Real b1(min = 0.05, max = 10) = 0.5 "x1 in x2";
  parameter Real b2(min = 0.05, max = 10) = 0.9 "Decay of x2";
  parameter Real c1(min = 0.05, max = 10) = 0.8 "Decay of x3";
  parameter Real c2(min = 0.05, max = 10) = 1.0 "x4 in x3";
  parameter Real d1(min = 0.05, max = 10) = 0.7 "x3 in x4";
  parameter Real d2(min = 0.05, max = 10) = 0.3 "Product of x3 and x4 in x4";
  parameter Real x10(min = -10, max = 10) = 1.0 "x1 at the beginning";
  parameter Real x20(min = -10, max = 10) = 1.0 "x2 at the beginning";
  parameter Real x30(min = -10, max = 10) = 1.0 "x3 at the beginning";
  parameter Real x40(min = -10, max = 10) = 1.0 "x4 at the beginning";
  input Real u1 "First input, drives x3";
  input Real u2 "Second input, drives x4";
  output Real x1(start = x10, fixed = true) "First state";
  output Real x2(start = x20, fixed = true) "Second state";
  output Real x3(start = x30, fixed = true) "Third state";
  output Real x4(start = x40, fixed = true) "Fourth state";
equation
  der(x1) = -a1*x1*x3 + a2*x2 + x3;
  der(x2) = -b1*x1 - b2*x2 + x4;
  der(x3) = -c1*x3 + c2*x4 + u1;
  der(x4) = -d1*x3 - d2*x3*x4 + u2;
  annotation(experiment(StopTime = 40));
end FourStates;
