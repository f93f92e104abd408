// a when-statement in an algorithm
model WhenAlgorithm
  discrete Real y(start = 0.0, fixed = true);
  Real x(start = 0.0, fixed = true);
equation
  der(x) = y;
algorithm
  when sample(0.25, 0.25) then
    y := pre(y) + 1.0;
    y := 2 * y;
  end when;
end WhenAlgorithm;
