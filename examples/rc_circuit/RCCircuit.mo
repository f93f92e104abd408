model RCCircuit "A capacitor that is charged through a resistor"
  parameter Real R(unit = "Ohm", min = 0) = 1500 "Resistance";
  parameter Real C(unit = "F", min = 0) = 1e-4 "Capacitance";
  input Real V_in(unit = "V") "Voltage of the source";
  output Real V_out(unit = "V", start = 0, fixed = true) "Voltage of the capacitor";
equation
  R*C*der(V_out) = V_in - V_out;
end RCCircuit;
