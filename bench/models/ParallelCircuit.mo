model ParallelCircuit "A capacitor and a coil in parallel, fed through a nonlinear resistor"
  parameter Real R1(unit = "Ohm") = 1 "Linear part of the resistor";
  parameter Real R2(unit = "V/A5") = 0.5 "Fifth-power part of the resistor";
  parameter Real C(unit = "F") = 0.3 "Capacitance";
  parameter Real L(unit = "H") = 0.5 "Inductance of the coil";
  parameter Real RL(unit = "Ohm") = 2 "Resistance of the coil";
  parameter Real v0(unit = "V") = 0.2 "Voltage of the capacitor at the beginning";
  input Real u(unit = "V") "Source voltage";
  output Real i(unit = "A", start = 0.1) "Current through the resistor";
  output Real v(unit = "V", start = v0, fixed = true) "Voltage of the capacitor";
  Real iL(unit = "A", start = 0, fixed = true) "Current through the coil";
equation
  u - v = R1*i + R2*i^5;
  C*der(v) = i - iL;
  L*der(iL) = v - RL*iL;
end ParallelCircuit;
