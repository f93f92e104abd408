// time events of a source with a period
model ClocksOfTime
  discrete Real start(start = 0.0, fixed = true);
  Integer count(start = 0, fixed = true);
  Real y = if time < start + 0.1 then 1.0 else 0.0;
  Real x(start = 0.0, fixed = true);
equation
  der(x) = y;
  when integer(time / 0.25) > pre(count) then
    count = pre(count) + 1;
    start = time;
  end when;
end ClocksOfTime;
