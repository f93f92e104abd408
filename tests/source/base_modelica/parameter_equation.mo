// where the search for a parameter begins, as the draft writes it
model ParameterEquation
  parameter Real p(fixed = false, start = 2.5);
  Real x(start = 1.0, fixed = true);
initial equation
  sin(p) = 0.5;
equation
  der(x) = -p * x;
end ParameterEquation;
