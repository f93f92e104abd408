// a delayed signal
model Delayed
  Real x(start = 1.0, fixed = true);
  Real y;
equation
  der(x) = -x;
  y = delay(x, 0.2);
end Delayed;
