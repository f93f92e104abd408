// a function handed on with one input given
partial function Law
  input Real x;
  output Real y;
end Law;
function power
  extends Law;
  input Real c;
algorithm
  y := c * x ^ 3;
end power;
function integral
  input Law f;
  input Real a;
  input Real b;
  output Real y;
algorithm
  y := (b - a) / 6 * (f(a) + 4 * f((a + b) / 2) + f(b));
end integral;
model PartialApplication
  Real y = integral(function power(c = 8.0), 0.0, time);
end PartialApplication;
