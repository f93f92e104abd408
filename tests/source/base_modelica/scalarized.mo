// subscripts inside the quotes, the whole array named as well
function total
  input Real x[3];
  output Real y = x[1] + x[2] + x[3];
end total;
model Scalarized
  Real x[3](start = {1.0, 2.0, 3.0}, each fixed = true);
  Real y = total(x);
equation
  der(x) = -x;
end Scalarized;
