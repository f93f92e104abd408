// equations that must be solved together
model AlgebraicLoop
  Real a(start = 1.0);
  Real b(start = 1.0);
equation
  a - b ^ 2 = time - 1.0;
  a * b = 1.5;
end AlgebraicLoop;
