// functions with jumps, which make events
model Stepwise
  Real x(start = 0.0, fixed = true);
  Real f = floor(3 * time) + ceil(2 * time);
equation
  der(x) = f + mod(time, 0.3) + rem(time, 0.4) + integer(4 * time);
end Stepwise;
