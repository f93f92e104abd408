// a record whose binding is another
record Pair
  Real a;
  Real b;
end Pair;
model RecordBinding
  Pair p(a(start = 1.0, fixed = true));
  Pair q = Pair(2 * p.a, 3 * p.b);
equation
  der(p.a) = -p.a;
  p.b = p.a * p.a;
end RecordBinding;
