// a local record with an array that is filled element by element
record Mixture
  Real X[2];
  Real sum;
end Mixture;
function mix
  input Real x;
  output Mixture m;
algorithm
  m.X[1] := x;
  m.X[2] := 1 - x;
  m.sum := m.X[1] + 2 * m.X[2];
end mix;
model RecordArrayField
  Mixture m = mix(time);
end RecordArrayField;
