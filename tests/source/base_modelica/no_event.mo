// noEvent and smooth
model NoEvent
  Real x(start = 1.0, fixed = true);
  Real y;
equation
  der(x) = noEvent(if x > 0.5 then -1.0 else -x);
  y = smooth(1, if time < 0.5 then time * time else time - 0.25);
end NoEvent;
