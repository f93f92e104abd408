model DCMotor "DC motor without inductance; current and speed are measured"
  parameter Real R(unit = "Ohm") = 5;
  parameter Real K(unit = "N.m/A") = 0.03;
  parameter Real J(unit = "kg.m2") = 1e-4;
  parameter Real B(unit = "N.m.s/rad") = 2e-5;
  input Real u(unit = "V");
  output Real i(unit = "A");
  output Real w(unit = "rad/s", start = 0, fixed = true);
equation
  u = R*i + K*w;
  J*der(w) = K*i - B*w;
end DCMotor;
