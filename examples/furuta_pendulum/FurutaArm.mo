model FurutaArm "Furuta pendulum whose arm is described by mass, centre of mass and inertia about it"
  extends FurutaPendulum(J = J_c + m_arm*r_c^2);
  parameter Real J_c(unit = "kg.m2", min = 0, max = 1) = 0.0014 "Inertia of the arm about its centre of mass";
  parameter Real m_arm(unit = "kg", min = 0, max = 10) = 0.165 "Mass of the arm";
  parameter Real r_c(unit = "m", min = 0, max = 2) = 0.1225 "From the axis to the arm's centre of mass";
end FurutaArm;
