model ReducedPendulum "Pendulum in Cartesian coordinates with its constraint differentiated twice"
  parameter Real L(unit = "m") = 1 "Length of the rod";
  parameter Real g(unit = "m/s2") = 9.81 "Gravity";
  parameter Real d(unit = "1/s") = 0.1 "Viscous damping";
  parameter Real phi0(unit = "rad") = 1.2 "Angle from the vertical at the beginning";
  output Real x(unit = "m", start = L*sin(phi0), fixed = true) "Horizontal position";
  output Real y(unit = "m", start = -L*cos(phi0), fixed = true) "Vertical position, upward";
  output Real lambda(unit = "1/s2", start = 5) "Pull of the rod over mass and length";
  Real vx(unit = "m/s", start = 0, fixed = true) "Horizontal velocity";
  Real vy(unit = "m/s", start = 0, fixed = true) "Vertical velocity";
equation
  der(x) = vx;
  der(y) = vy;
  der(vx) = -lambda*x - d*vx;
  der(vy) = -lambda*y - g - d*vy;
  vx^2 + vy^2 + x*der(vx) + y*der(vy) = 0;
end ReducedPendulum;
