model pulsed "A heater that is switched on for half of each period: time events"
  parameter Real K(unit = "K", min = 0, max = 100) = 10 "Excess at rest with the heater on";
  parameter Real tau(unit = "s", min = 0.01, max = 100) = 2 "Time constant";
  parameter Real period(unit = "s", min = 0.5, max = 100) = 5 "Period of the switch";
  Real T(unit = "K", start = 0, fixed = true) "Excess temperature";
  discrete Real on(start = 1, fixed = true) "1 while the heater is on";
  discrete Real next(start = period/2, fixed = true) "When it is switched next";
  output Real T_out(unit = "K") "Excess as measured";
  output Real heat "1 while the heater is on";
equation
  tau*der(T) = K*on - T;
  when time >= pre(next) then
    on = 1 - pre(on);
    next = pre(next) + period/2;
  end when;
  T_out = T;
  heat = on;
end pulsed;
