// an enumeration as a parameter, compared
model Enumeration
  type Kind = enumeration(linear "x", quadratic "x*x");
  parameter Kind kind = Kind.quadratic;
  Real x(start = 1.0, fixed = true);
equation
  der(x) = if kind == Kind.linear then -x else -x * x;
end Enumeration;
