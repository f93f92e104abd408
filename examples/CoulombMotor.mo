model CoulombMotor "DC motor whose rotor sticks until the torque exceeds the break-away torque"
  parameter Real R(unit = "Ohm", min = 0.01, max = 100) = 1.5 "Resistance of the winding";
  parameter Real L(unit = "H", min = 1e-5, max = 1) = 0.01 "Inductance of the winding";
  parameter Real k(unit = "N.m/A", min = 1e-4, max = 10) = 0.08 "Torque constant";
  parameter Real J(unit = "kg.m2", min = 1e-6, max = 1) = 5e-4 "Inertia of rotor and load";
  parameter Real d(unit = "N.m.s/rad", min = 0, max = 1) = 1e-4 "Viscous friction";
  parameter Real tau_c(unit = "N.m", min = 0, max = 10) = 0.02 "Coulomb friction while turning";
  parameter Real tau_s(unit = "N.m", min = 0, max = 10) = 0.03 "Torque that breaks the rotor loose";
  input Real u(unit = "V") "Voltage of the motor";
  input Real load(unit = "N.m") "Torque of the load";
  output Real w(unit = "rad/s", start = 0, fixed = true) "Speed of the rotor";
  Real i(unit = "A", start = 0, fixed = true) "Current";
  Real tau(unit = "N.m") "Torque on the rotor, without friction";
  Real friction(unit = "N.m") "Torque of the friction";
  Integer mode(start = 0, fixed = true) "1 and -1: turning in that direction; 0: stuck";
equation
  L*der(i) = u - R*i - k*w;
  tau = k*i - load;
  friction = if mode == 0 then tau else mode*tau_c + d*w;
  J*der(w) = tau - friction;
  // A rotor that comes to rest is stuck first; if the torque is too large for that, it breaks
  // loose again in the same instant, in whichever direction the torque points.
  when pre(mode) == 0 and tau > tau_s then
    mode = 1;
  elsewhen pre(mode) == 0 and tau < -tau_s then
    mode = -1;
  elsewhen pre(mode) == 1 and w < 0 then
    mode = 0;
    reinit(w, 0);
  elsewhen pre(mode) == -1 and w > 0 then
    mode = 0;
    reinit(w, 0);
  end when;
  annotation(experiment(StopTime = 4));
end CoulombMotor;
