// a Boolean with a memory
model Hysteresis
  Boolean on(start = true, fixed = true);
  Real T(start = 18.0, fixed = true);
equation
  on = T < 19.0 or pre(on) and not T > 21.0;
  der(T) = 3.0 * ((if on then 30.0 else 10.0) - T);
end Hysteresis;
