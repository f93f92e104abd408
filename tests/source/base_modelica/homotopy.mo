// homotopy and semiLinear
model Homotopy
  Real x(start = 0.5);
  Real q = semiLinear(cos(4 * time), 2.0, 5.0);
equation
  homotopy(x ^ 3 + x, 2 * x) = 2.0 + time;
end Homotopy;
