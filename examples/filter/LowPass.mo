model LowPass "Doubly terminated LC ladder of third order: a step is to rise fast without ringing"
  parameter Real Rs(unit = "Ohm") = 600 "resistance of the source";
  parameter Real Rl(unit = "Ohm") = 600 "resistance of the load";
  parameter Real C1(unit = "F") = 200e-9 "capacitor at the source";
  parameter Real L2(unit = "H") = 0.1 "inductor";
  parameter Real C3(unit = "F") = 200e-9 "capacitor at the load";
  parameter Real RL(unit = "Ohm") = 20 "resistance of the inductor's wire";
  parameter Real uStep(unit = "V") = 2 "height of the step of the source";
  Real v1(unit = "V", start = 0, fixed = true) "voltage of C1";
  output Real v3(unit = "V", start = 0, fixed = true) "voltage at the load";
  Real i2(unit = "A", start = 0, fixed = true) "current through the inductor";
equation
  C1*der(v1) = (uStep - v1)/Rs - i2;
  L2*der(i2) = v1 - v3 - RL*i2;
  C3*der(v3) = i2 - v3/Rl;
  annotation(experiment(StopTime = 0.002));
end LowPass;
