// a function that calls itself
function fibonacci
  input Integer n;
  output Integer f;
algorithm
  if n < 2 then
    f := n;
  else
    f := fibonacci(n - 1) + fibonacci(n - 2);
  end if;
end fibonacci;
model FunctionRecursive
  Real y = fibonacci(7) * time;
end FunctionRecursive;
