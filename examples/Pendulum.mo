model Pendulum "Planar pendulum in Cartesian coordinates: a DAE of index three"
  parameter Real L(unit = "m", min = 0.1, max = 10) = 1 "Length of the rod";
  parameter Real m(unit = "kg", min = 0.01, max = 100) = 1 "Mass of the bob";
  parameter Real g(unit = "m/s2", min = 0, max = 30) = 9.81 "Gravity";
  parameter Real d(unit = "N.s/m", min = 0, max = 10) = 0.1 "Viscous damping";
  parameter Real phi0(unit = "rad", min = -1.5, max = 1.5) = 1.2 "Angle from the vertical at the beginning";
  output Real x(unit = "m", start = L*sin(phi0), fixed = true) "Horizontal position";
  output Real y(unit = "m", start = -L*cos(phi0)) "Vertical position, upward";
  Real vx(unit = "m/s", start = 0, fixed = true) "Horizontal velocity";
  Real vy(unit = "m/s", start = 0) "Vertical velocity";
  Real F(unit = "N", start = 0) "Pull of the rod";
equation
  der(x) = vx;
  der(y) = vy;
  m*der(vx) = -F*x/L - d*vx;
  m*der(vy) = -F*y/L - m*g - d*vy;
  x^2 + y^2 = L^2;
  annotation(experiment(StopTime = 10));
end Pendulum;
