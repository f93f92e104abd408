// a field and an element of what a function returns
record Pair
  Real a;
  Real b[2];
end Pair;
function pair
  input Real x;
  output Pair p;
algorithm
  p := Pair(x, {x, x * x});
end pair;
model FieldOfResult
  Pair p = pair(time);
  Real y = p.b[2] + p.a;
end FieldOfResult;
