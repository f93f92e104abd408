// several conditions, one of them initial()
model WhenInitial
  discrete Real y(start = -1.0);
  Real x(start = 0.0, fixed = true);
equation
  der(x) = y;
  when {initial(), time > 0.5} then
    y = 1.0 + 2 * time;
  end when;
end WhenInitial;
