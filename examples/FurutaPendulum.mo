model FurutaPendulum "Rotary pendulum: a driven horizontal arm carries a freely swinging rod"
  // Arm angle phi about the vertical axis, pendulum angle theta from the upright position. With
  // e_r along the arm, e_phi tangential and e_z upward, the rod's centre of mass is at
  //   r e_r + l sin(theta) e_phi + l cos(theta) e_z,
  // and the rod is slender (no inertia about its own axis), so that the energies are
  //   T = (a + b sin(theta)^2) phi'^2/2 + b theta'^2/2 + c cos(theta) phi' theta',
  //   V = e cos(theta)
  // with a = J + m r^2, b = Jp + m l^2, c = m r l, e = m g l. Lagrange's equations of these follow.
  parameter Real r(unit = "m", min = 0.01, max = 2) = 0.25 "Length of the arm";
  parameter Real l(unit = "m", min = 0.01, max = 2) = 0.2 "From the joint to the rod's centre of mass";
  parameter Real m(unit = "kg", min = 0.001, max = 10) = 0.15 "Mass of the rod";
  parameter Real Jp(unit = "kg.m2", min = 0, max = 1) = 0.002 "Inertia of the rod about its centre of mass";
  parameter Real J(unit = "kg.m2", min = 1e-5, max = 1) = 0.01 "Inertia of arm and motor about the vertical axis";
  parameter Real d_phi(unit = "N.m.s/rad", min = 0, max = 1) = 0.002 "Friction of the arm";
  parameter Real d_theta(unit = "N.m.s/rad", min = 0, max = 1) = 0.0005 "Friction of the joint";
  parameter Real g(unit = "m/s2") = 9.81 "Gravity";
  parameter Real theta0(unit = "rad", min = -4, max = 4) = 2.0 "Angle of the rod at the beginning";
  input Real tau(unit = "N.m") "Torque of the motor";
  output Real phi(unit = "rad", start = 0, fixed = true) "Angle of the arm";
  output Real theta(unit = "rad", start = theta0, fixed = true) "Angle of the rod, zero when upright";
  Real w_phi(unit = "rad/s", start = 0, fixed = true) "Angular velocity of the arm";
  Real w_theta(unit = "rad/s", start = 0, fixed = true) "Angular velocity of the rod";
  Real energy(unit = "J") "Kinetic and potential energy";
protected
  parameter Real a(unit = "kg.m2") = J + m*r^2;
  parameter Real b(unit = "kg.m2") = Jp + m*l^2;
  parameter Real c(unit = "kg.m2") = m*r*l;
  parameter Real e(unit = "N.m") = m*g*l;
equation
  der(phi) = w_phi;
  der(theta) = w_theta;
  (a + b*sin(theta)^2)*der(w_phi) + c*cos(theta)*der(w_theta)
    + 2*b*sin(theta)*cos(theta)*w_phi*w_theta - c*sin(theta)*w_theta^2 = tau - d_phi*w_phi;
  c*cos(theta)*der(w_phi) + b*der(w_theta)
    - b*sin(theta)*cos(theta)*w_phi^2 - e*sin(theta) = -d_theta*w_theta;
  energy = (a + b*sin(theta)^2)*w_phi^2/2 + b*w_theta^2/2 + c*cos(theta)*w_phi*w_theta + e*cos(theta);
  annotation(experiment(StopTime = 5));
end FurutaPendulum;
