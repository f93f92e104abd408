// div, mod, rem, integer
model IntegerArithmetic
  parameter Integer n = 7;
  parameter Integer q = div(n, 2);
  parameter Integer r = mod(n, 4);
  Real x(start = 0.0, fixed = true);
equation
  der(x) = q + r + rem(n, 5) + integer(2.7);
end IntegerArithmetic;
