// an array of components, their arrays kept
model Cell
  parameter Real k = 1.0;
  Real x[2](each start = 1.0, each fixed = true);
equation
  der(x) = -k * x;
end Cell;
model PartiallyScalarized
  Cell a[2](k = {1.0, 2.0});
  Real s = a[1].x[1] + a[2].x[2];
end PartiallyScalarized;
