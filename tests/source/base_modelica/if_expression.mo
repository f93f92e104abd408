// a choice that makes an event, with elseif
model IfExpression
  Real x(start = 0.0, fixed = true);
equation
  der(x) = if x < 0.2 then 1.0 elseif time < 0.6 then 0.5 else 0.1;
end IfExpression;
