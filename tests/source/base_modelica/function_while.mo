// a while-loop of known length
function factorial
  input Integer n;
  output Real f = 1.0;
protected
  Integer k = n;
algorithm
  while k > 1 loop
    f := f * k;
    k := k - 1;
  end while;
end factorial;
model FunctionWhile
  Real x(start = 0.0, fixed = true);
equation
  der(x) = factorial(5) - x;
end FunctionWhile;
