// whole arrays in equations
model ArrayEquation
  parameter Real A[2, 2] = {{-1.0, 2.0}, {-2.0, -1.0}};
  Real x[2](start = {1.0, 0.0}, each fixed = true);
equation
  der(x) = A * x;
end ArrayEquation;
