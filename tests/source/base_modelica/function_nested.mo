// functions that call functions, several results assigned in an algorithm
function swap
  input Real a;
  input Real b;
  output Real c = b;
  output Real d = a;
end swap;
function twice
  input Real a;
  input Real b;
  output Real y;
protected
  Real c, d;
algorithm
  (c, d) := swap(a, b);
  y := c + 10 * d;
end twice;
model FunctionNested
  Real y = twice(time, 1.0);
end FunctionNested;
