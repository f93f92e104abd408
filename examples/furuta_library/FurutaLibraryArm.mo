model FurutaLibraryArm "The pendulum whose arm is described by mass, centre of mass and inertia about it"
  extends FurutaLibrary(arm(r_CM = {r_c, 0, 0}, m = m_arm, I_22 = J_c));
  parameter Modelica.Units.SI.Inertia J_c(min = 0) = 0.0014 "Inertia of the arm about its centre of mass";
  parameter Modelica.Units.SI.Mass m_arm(min = 0) = 0.165 "Mass of the arm";
  parameter Modelica.Units.SI.Length r_c(min = 0) = 0.1225 "From the axis to the arm's centre of mass";
end FurutaLibraryArm;
