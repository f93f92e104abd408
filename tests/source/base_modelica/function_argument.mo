// a function handed to a function
partial function Law
  input Real x;
  output Real y;
end Law;
function square
  extends Law;
algorithm
  y := x * x;
end square;
function integral
  input Law f;
  input Real a;
  input Real b;
  output Real y;
algorithm
  y := (b - a) / 6 * (f(a) + 4 * f((a + b) / 2) + f(b));
end integral;
model FunctionArgument
  Real y = integral(square, 0.0, time);
end FunctionArgument;
