// a loop in a loop, and one with two indices
model NestedFor
  Real a[2, 3];
  Real b[2, 3];
equation
  for i in 1:2 loop
    for j in 1:3 loop
      a[i, j] = i * time + j;
    end for;
  end for;
  for i in 1:2, j in 1:3 loop
    b[i, j] = a[i, j] * (i - j);
  end for;
end NestedFor;
