// a parameter, a derivative, a fixed start value
model Decay "Exponential decay"
  parameter Real k = 2.0 "Rate";
  Real x(start = 1.5, fixed = true);
equation
  der(x) = -k * x;
end Decay;
