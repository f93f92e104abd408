model Drive "One axis of a robot: P-PI cascade, motor, elastic gear with friction, arm and load"
  constant Real pi = 3.141592653589793;
  parameter Real kp(unit = "1/s") = 2 "gain of the position controller";
  parameter Real ks = 1 "gain of the speed controller";
  parameter Real Ts(unit = "s") = 0.1 "integral time of the speed controller";

  parameter Real startAngle(unit = "deg") = 0 "where the motion begins";
  parameter Real endAngle(unit = "deg") = 60 "where it ends";
  parameter Real elbow(unit = "deg") = 0 "angle of the next axis, which stays there";
  parameter Real mLoad(unit = "kg") = 0 "mass of the load";

  parameter Real vMax(unit = "rad/s") = 3 "largest speed of the reference";
  parameter Real aMax(unit = "rad/s2") = 15 "largest acceleration of the reference";
  parameter Real Jm(unit = "kg.m2") = 14 "inertia of the motor, at the arm's side of the gear";
  parameter Real J0(unit = "kg.m2") = 6 "inertia of the upper arm";
  parameter Real mArm(unit = "kg") = 8 "mass of the lower arm";
  parameter Real upper(unit = "m") = 0.5 "length of the upper arm";
  parameter Real lower(unit = "m") = 0.7 "length of the lower arm";
  parameter Real c(unit = "N.m/rad") = 150000 "stiffness of the gear";
  parameter Real d(unit = "N.m.s/rad") = 200 "damping of the gear";
  parameter Real fCoulomb(unit = "N.m") = 5 "dry friction of the gear";
  parameter Real fViscous(unit = "N.m.s/rad") = 30 "viscous friction of the gear";
  parameter Real kTorque(unit = "N.m.s/rad") = 8000 "torque for a unit of the speed error";
  parameter Real TMotor(unit = "s") = 0.004 "time constant of the motor's current";

  final parameter Real J = J0 + (mArm/3 + mLoad)*reach2 "inertia of arm and load";
  final parameter Real reach2(unit = "m2") =
    upper^2 + lower^2 + 2*upper*lower*cos(elbow*pi/180) "distance of the load, squared";
  final parameter Real way(unit = "rad") = (endAngle - startAngle)*pi/180;
  final parameter Real ta(unit = "s") = min(vMax/aMax, sqrt(abs(way)/aMax)) "time of acceleration";
  final parameter Real tEnd(unit = "s") = ta + abs(way)/(aMax*ta) "end of the reference motion";
  final parameter Real a(unit = "rad/s2") = if way > 0 then aMax else -aMax;

  output Real phiRef(unit = "rad") "reference angle";
  output Real wRef(unit = "rad/s") "reference speed";
  Real phiM(unit = "rad", start = startAngle*pi/180, fixed = true) "angle of the motor";
  output Real phi(unit = "rad", start = startAngle*pi/180, fixed = true) "angle of the arm";
  Real wM(unit = "rad/s", start = 0, fixed = true) "speed of the motor";
  output Real w(unit = "rad/s", start = 0, fixed = true) "speed of the arm";
  Real xi(unit = "rad", start = 0, fixed = true) "integral of the speed error";
  Real tau(unit = "N.m", start = 0, fixed = true) "torque of the motor";
  Real gear(unit = "N.m") "torque through the gear";
  Real eSpeed(unit = "rad/s") "what the speed controller sees";
equation
  wRef = if time < ta then a*time
    elseif time < tEnd - ta then a*ta
    elseif time < tEnd then a*(tEnd - time) else 0;
  phiRef = startAngle*pi/180 + (if time < ta then a*time^2/2
    elseif time < tEnd - ta then a*ta*(time - ta/2)
    elseif time < tEnd then way - a*(tEnd - time)^2/2 else way);
  eSpeed = wRef + kp*(phiRef - phiM) - wM;
  der(xi) = eSpeed;
  TMotor*der(tau) = kTorque*ks*(eSpeed + xi/Ts) - tau;
  gear = c*(phiM - phi) + d*(wM - w);
  der(phiM) = wM;
  Jm*der(wM) = tau - gear - fViscous*wM - fCoulomb*tanh(wM/0.05);
  der(phi) = w;
  J*der(w) = gear;
  annotation(experiment(StopTime = 2));
end Drive;
