// the first condition that becomes true wins
model Elsewhen
  discrete Real level(start = 0.0, fixed = true);
  Real x(start = 0.0, fixed = true);
equation
  der(x) = level;
  when time > 0.3 then
    level = 1.0;
  elsewhen time > 0.6 then
    level = -2.0;
  end when;
end Elsewhen;
