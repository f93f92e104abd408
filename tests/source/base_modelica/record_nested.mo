// a record in a record
record Inner
  Real a[2];
end Inner;
record Outer
  Inner part;
  Real b;
end Outer;
model RecordNested
  Outer o;
equation
  o.part.a = {time, 2 * time};
  o.b = o.part.a[1] + o.part.a[2];
end RecordNested;
