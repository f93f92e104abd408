// branches of equations that change during the run
model IfEquation
  Real x(start = 0.0, fixed = true);
  Real y;
equation
  if time < 0.4 then
    der(x) = 1.0;
    y = x;
  elseif time < 0.8 then
    der(x) = -0.5;
    y = 2 * x;
  else
    der(x) = 0.0;
    y = 3 * x;
  end if;
end IfEquation;
