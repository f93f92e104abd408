// an enumeration that changes
model EnumerationVariable
  type Phase = enumeration(cold, warm, hot);
  Phase phase;
  Real x(start = 0.0, fixed = true);
equation
  phase = if time < 0.25 then Phase.cold elseif time < 0.5 then Phase.warm else Phase.hot;
  der(x) = if phase == Phase.hot then 3.0 else Integer(phase);
end EnumerationVariable;
