// an array of records, its fields as slices
record Cell
  Real u;
  Real v;
end Cell;
model RecordArray
  Cell c[3](u(each start = 1.0, each fixed = true));
equation
  for i in 1:3 loop
    der(c[i].u) = -i * c[i].u;
  end for;
  c.v = 2 * c.u;
end RecordArray;
