// sizes that a value gives
model SizeFromValue
  parameter Real c[:] = {1.0, 2.0, 3.0};
  Real x[size(c, 1)](each start = 1.0, each fixed = true);
equation
  der(x) = -c .* x;
end SizeFromValue;
