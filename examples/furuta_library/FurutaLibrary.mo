model FurutaLibrary "Furuta pendulum of library parts, with dry and viscous friction in both joints"
  import Modelica.Mechanics.MultiBody;
  import Modelica.Mechanics.Rotational;
  import Modelica.Units.SI;

  parameter SI.Inertia I_arm(min = 0) = 0.004 "Inertia of the arm about the vertical axis";
  parameter SI.Inertia I_pendulum(min = 0) = 0.002 "Inertia of the pendulum about its centre of mass";
  parameter SI.Mass m_pendulum(min = 0) = 0.15 "Mass of the pendulum";
  parameter SI.Length r_CM_pendulum(min = 0) = 0.2 "From the joint to the pendulum's centre of mass";
  parameter SI.Torque tau_11(min = 0) = 0.004 "Friction of the arm when it hardly moves";
  parameter SI.Torque tau_12(min = 0) = 0.006 "Friction of the arm at 1 rad/s";
  parameter SI.Torque tau_21(min = 0) = 0.0012 "Friction of the pendulum when it hardly moves";
  parameter SI.Torque tau_22(min = 0) = 0.0018 "Friction of the pendulum at 1 rad/s";

  inner MultiBody.World world(enableAnimation = false, g = 9.81);
  MultiBody.Joints.Revolute armJoint(
    useAxisFlange = true, n = {0, 1, 0}, phi(start = 0, fixed = true), w(start = 0, fixed = true));
  MultiBody.Parts.BodyShape arm(
    r = {0.25, 0, 0}, r_CM = {0, 0, 0}, m = 0.165, I_11 = 0, I_22 = I_arm, I_33 = 0);
  MultiBody.Joints.Revolute pendulumJoint(
    useAxisFlange = true, n = {-1, 0, 0}, phi(start = 1.57, fixed = true), w(start = 0, fixed = true));
  MultiBody.Parts.BodyShape pendulum(
    r = {0, 0.4, 0}, r_CM = {0, r_CM_pendulum, 0}, m = m_pendulum,
    I_11 = I_pendulum, I_22 = 0, I_33 = I_pendulum);
  Rotational.Components.BearingFriction frictionR1(tau_pos = [0, tau_11; 1, tau_12]);
  Rotational.Components.BearingFriction frictionR2(
    useSupport = true, tau_pos = [0, tau_21; 1, tau_22]);
  Rotational.Sensors.AngleSensor armAngle;
  Rotational.Sensors.AngleSensor pendulumAngle;
equation
  connect(world.frame_b, armJoint.frame_a);
  connect(armJoint.frame_b, arm.frame_a);
  connect(arm.frame_b, pendulumJoint.frame_a);
  connect(pendulumJoint.frame_b, pendulum.frame_a);
  connect(frictionR1.flange_b, armJoint.axis);
  connect(frictionR2.flange_b, pendulumJoint.axis);
  connect(frictionR2.support, pendulumJoint.support);
  connect(armAngle.flange, armJoint.axis);
  connect(pendulumAngle.flange, pendulumJoint.axis);
  annotation(experiment(StopTime = 5));
end FurutaLibrary;
