// a model's algorithm with branches and a loop
model AlgorithmSection
  Real u = sin(5 * time);
  Real y;
  Real s;
algorithm
  y := u;
  if y < 0.0 then
    y := -y;
  end if;
  s := 0.0;
  for i in 1:3 loop
    s := s + y / i;
  end for;
end AlgorithmSection;
