// an array counted by an enumeration, and a loop over it
model EnumerationIndex
  type Color = enumeration(red, green, blue);
  parameter Real rate[Color] = {1.0, 2.0, 3.0};
  Real x[Color](each start = 1.0, each fixed = true);
equation
  for c in Color loop
    der(x[c]) = -rate[c] * x[c];
  end for;
end EnumerationIndex;
