model Unbalanced
  parameter Real a = 1;
  Real x;
  Real y;
equation
  der(x) = -a*x;
end Unbalanced;
