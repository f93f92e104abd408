// parameters in a record, one in terms of another
record Data
  parameter Real a = 2.0;
  parameter Real b = 2 * a;
end Data;
model RecordParameter
  parameter Data d(a = 3.0);
  Real x(start = 1.0, fixed = true);
equation
  der(x) = d.a - d.b * x;
end RecordParameter;
