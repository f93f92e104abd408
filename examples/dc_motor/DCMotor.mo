package DCMotor "A direct-current motor with a disc on its shaft"
  partial model Motor "What both have: torque, inertia, viscous friction"
    parameter Real K(unit = "N.m/A", min = 1e-4, max = 1) = 0.03 "Motor constant";
    parameter Real J(unit = "kg.m2", min = 1e-6, max = 1) = 6e-4 "Inertia of rotor and disc";
    parameter Real B(unit = "N.m.s/rad", min = 0, max = 1) = 5e-5 "Viscous friction";
    input Real u(unit = "V") "Voltage";
    output Real i(unit = "A") "Current";
    output Real w(unit = "rad/s", start = 0, fixed = true) "Speed";
  end Motor;

  model Linear "Resistance and viscous friction"
    extends Motor;
    parameter Real R(unit = "Ohm", min = 1e-3, max = 100) = 1.2 "Resistance of the armature";
  equation
    R*i = u - K*w;
    J*der(w) = K*i - B*w;
  end Linear;

  model Nonlinear "A conductance with two slopes, and Coulomb friction that holds the rotor"
    extends Motor;
    parameter Real G0(unit = "S", min = 1e-3, max = 10) = 0.6 "Slope of the conductance below u1";
    parameter Real G1(unit = "S", min = 1e-3, max = 10) = 1.2 "Slope of the conductance above u1";
    parameter Real u1(unit = "V", min = 0.1, max = 20) = 2.5 "Voltage at which the slope changes";
    parameter Real Tc(unit = "N.m", min = 0, max = 1) = 0.02 "Coulomb friction";
  protected
    Real v(unit = "V") "Voltage of the armature";
    Real friction(unit = "N.m");
    Integer turning(start = 0, fixed = true) "1 and -1: in that direction; 0: the rotor sticks";
  equation
    v = u - K*w;
    i = if v > u1 then G0*u1 + G1*(v - u1) elseif v < -u1 then -G0*u1 + G1*(v + u1) else G0*v;
    friction = if turning == 0 then K*i else turning*Tc + B*w;
    J*der(w) = K*i - friction;
    when pre(turning) == 0 and K*i > Tc then
      turning = 1;
    elsewhen pre(turning) == 0 and K*i < -Tc then
      turning = -1;
    elsewhen pre(turning) == 1 and w < 0 then
      turning = 0;
      reinit(w, 0);
    elsewhen pre(turning) == -1 and w > 0 then
      turning = 0;
      reinit(w, 0);
    end when;
  end Nonlinear;
end DCMotor;
