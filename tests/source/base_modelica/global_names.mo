// functions and records with names like those of variables
record heat
  Real value;
end heat;
function f
  input Real x;
  output Real y = 2 * x;
end f;
model GlobalNames
  Real x = f(time);
  heat h = heat(x);
end GlobalNames;
