// branches and an early return
function saturate
  input Real x;
  input Real limit = 0.5;
  output Real y;
algorithm
  if x > limit then
    y := limit;
    return;
  elseif x < -limit then
    y := -limit;
    return;
  end if;
  y := x;
end saturate;
model FunctionReturn
  Real y = saturate(sin(6 * time));
  Real z = saturate(limit = 0.2, x = sin(6 * time));
end FunctionReturn;
