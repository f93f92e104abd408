// Boolean variables and operators
model BooleanLogic
  Boolean a = time > 0.2;
  Boolean b = time > 0.6;
  Boolean c = a and not b or time > 0.9;
  Real x(start = 0.0, fixed = true);
equation
  der(x) = if c then 1.0 else -1.0;
end BooleanLogic;
