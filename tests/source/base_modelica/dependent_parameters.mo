// final and dependent parameters
model DependentParameters
  parameter Real a = 2.0;
  final parameter Real b = a ^ 2 + 1.0;
  parameter Real c = b / a;
  Real x(start = c, fixed = true);
equation
  der(x) = a - b * x;
end DependentParameters;
