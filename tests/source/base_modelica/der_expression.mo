// the derivative of an expression
model DerExpression
  parameter Real A = 2.0;
  Real y(start = 1.0, fixed = true);
  Real T(start = 20.0, fixed = true);
equation
  A * der(y) = 1.0;
  A * der(y * T) = 50.0;
end DerExpression;
