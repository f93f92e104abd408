model TemperatureLab "Two heaters side by side that warm each other and the room"
  // J. Hedengren, Temperature Control Lab, apmonitor.com: the energy balance with radiation.
  parameter Real U(unit = "W/(m2.K)", min = 2, max = 20) = 10 "Heat transfer to the air";
  parameter Real alpha1(unit = "W", min = 0.005, max = 0.02) = 0.01 "Heat of heater 1 for each percent";
  parameter Real alpha2(unit = "W", min = 0.002, max = 0.015) = 0.0075 "Heat of heater 2 for each percent";
  parameter Real m(unit = "kg") = 4e-3 "Mass of each heater";
  parameter Real cp(unit = "J/(kg.K)") = 500 "Heat capacity";
  parameter Real A(unit = "m2") = 1e-3 "Area towards the air";
  parameter Real As(unit = "m2") = 2e-4 "Area between the heaters";
  parameter Real eps = 0.9 "Emissivity";
  parameter Real Ta(unit = "degC") = 23 "Temperature of the room";
  constant Real sigma(unit = "W/(m2.K4)") = 5.67e-8 "Stefan-Boltzmann constant";
  constant Real zero = 273.15 "Degrees Celsius to kelvin";
  input Real Q1(unit = "%", min = 0, max = 100) "Setting of heater 1";
  input Real Q2(unit = "%", min = 0, max = 100) "Setting of heater 2";
  output Real T1(unit = "degC", start = 20, fixed = true, nominal = 50) "Temperature of heater 1";
  output Real T2(unit = "degC", start = 20, fixed = true, nominal = 50) "Temperature of heater 2";
protected
  Real exchange(unit = "W") "Heat from heater 2 to heater 1";
equation
  exchange = U*As*(T2 - T1) + eps*sigma*As*((T2 + zero)^4 - (T1 + zero)^4);
  m*cp*der(T1) = U*A*(Ta - T1) + eps*sigma*A*((Ta + zero)^4 - (T1 + zero)^4) + exchange + alpha1*Q1;
  m*cp*der(T2) = U*A*(Ta - T2) + eps*sigma*A*((Ta + zero)^4 - (T2 + zero)^4) - exchange + alpha2*Q2;
  annotation(experiment(StopTime = 600));
end TemperatureLab;
