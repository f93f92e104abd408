// several results, one of them left out
function polar
  input Real x;
  input Real y;
  output Real r;
  output Real phi;
algorithm
  r := sqrt(x * x + y * y);
  phi := atan2(y, x);
end polar;
model FunctionSeveral
  Real r;
  Real phi;
  Real psi;
equation
  (r, phi) = polar(1.0, time);
  (, psi) = polar(time, 1.0);
end FunctionSeveral;
