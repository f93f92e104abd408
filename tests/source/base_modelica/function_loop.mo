// a function with local variables and a loop
function polynomial
  input Real c[:];
  input Real x;
  output Real y;
protected
  Real power = 1.0;
algorithm
  y := 0.0;
  for i in 1:size(c, 1) loop
    y := y + c[i] * power;
    power := power * x;
  end for;
end polynomial;
model FunctionLoop
  Real y = polynomial({1.0, -2.0, 3.0}, time);
end FunctionLoop;
