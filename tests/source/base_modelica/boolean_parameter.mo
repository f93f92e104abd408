// a switch that chooses equations
model BooleanParameter
  parameter Boolean fast = true annotation(Evaluate = true);
  Real x(start = 1.0, fixed = true);
equation
  if fast then
    der(x) = -5.0 * x;
  else
    der(x) = -x;
  end if;
end BooleanParameter;
