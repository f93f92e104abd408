model FurutaMultiBody "The Furuta pendulum from parts of the Modelica Standard Library"
  // The same data and angles as FurutaPendulum; the joint turns about the arm so that a positive
  // angle leans the rod in the direction in which the arm moves when phi grows.
  import MB = Modelica.Mechanics.MultiBody;
  parameter Real r(unit = "m") = 0.25 "Length of the arm";
  parameter Real l(unit = "m") = 0.2 "From the joint to the rod's centre of mass";
  parameter Real m(unit = "kg") = 0.15 "Mass of the rod";
  parameter Real Jp(unit = "kg.m2") = 0.002 "Inertia of the rod about its centre of mass";
  parameter Real J(unit = "kg.m2") = 0.01 "Inertia of arm and motor about the vertical axis";
  parameter Real d_phi(unit = "N.m.s/rad") = 0.002 "Friction of the arm";
  parameter Real d_theta(unit = "N.m.s/rad") = 0.0005 "Friction of the joint";
  parameter Real theta0(unit = "rad") = 2.0 "Angle of the rod at the beginning";
  input Real tau(unit = "N.m") "Torque of the motor";
  output Real phi(unit = "rad") "Angle of the arm";
  output Real theta(unit = "rad") "Angle of the rod, zero when upright";
  inner MB.World world(g = 9.81, enableAnimation = false);
  MB.Joints.Revolute motor(
    useAxisFlange = true, n = {0, 1, 0}, phi(start = 0, fixed = true), w(start = 0, fixed = true));
  MB.Joints.Revolute joint(
    useAxisFlange = true, n = {-1, 0, 0}, phi(start = theta0, fixed = true), w(start = 0, fixed = true));
  MB.Parts.FixedTranslation arm(r = {r, 0, 0}, animation = false);
  MB.Parts.Body hub(r_CM = {0, 0, 0}, m = 1, I_11 = 0, I_22 = J, I_33 = 0, animation = false);
  MB.Parts.Body rod(r_CM = {0, l, 0}, m = m, I_11 = Jp, I_22 = 0, I_33 = Jp, animation = false);
  Modelica.Mechanics.Rotational.Sources.Torque drive;
  Modelica.Mechanics.Rotational.Components.Damper armFriction(d = d_phi);
  Modelica.Mechanics.Rotational.Components.Damper jointFriction(d = d_theta);
  Modelica.Mechanics.Rotational.Components.Fixed ground;
equation
  drive.tau = tau;
  phi = motor.phi;
  theta = joint.phi;
  connect(world.frame_b, motor.frame_a);
  connect(motor.frame_b, hub.frame_a);
  connect(motor.frame_b, arm.frame_a);
  connect(arm.frame_b, joint.frame_a);
  connect(joint.frame_b, rod.frame_a);
  connect(drive.flange, motor.axis);
  connect(ground.flange, armFriction.flange_a);
  connect(armFriction.flange_b, motor.axis);
  connect(joint.support, jointFriction.flange_a);
  connect(jointFriction.flange_b, joint.axis);
  annotation(experiment(StopTime = 5));
end FurutaMultiBody;
