model Thermostat "A room whose heater a thermostat with hysteresis switches"
  parameter Real tau(unit = "s", min = 10, max = 1e5) = 600 "Time constant of the room";
  parameter Real P(unit = "K", min = 0, max = 100) = 25 "What the heater adds to the temperature in the long run";
  parameter Real T_out(unit = "degC", min = -40, max = 40) = 5 "Temperature outside";
  parameter Real T_low(unit = "degC", min = 0, max = 40) = 19 "The heater goes on below this";
  parameter Real T_high(unit = "degC", min = 0, max = 40) = 21 "The heater goes off above this";
  parameter Real T0(unit = "degC", min = -40, max = 60) = 15 "Temperature at the beginning";
  output Real T(unit = "degC", start = T0, fixed = true) "Temperature of the room";
  Boolean on(start = true, fixed = true) "Whether the heater is on";
equation
  tau*der(T) = T_out - T + (if on then P else 0);
  when T < T_low then
    on = true;
  elsewhen T > T_high then
    on = false;
  end when;
  annotation(experiment(StopTime = 3600));
end Thermostat;
