model bouncingBall "A ball that is dropped on a hard floor and comes to rest"
  parameter Real g(unit = "m/s2", min = 0.1, max = 30) = 9.81 "Gravity";
  parameter Real e(unit = "1", min = 0, max = 1) = 0.8 "Part of the speed that a bounce leaves";
  parameter Real h0(unit = "m", min = 0, max = 100) = 1 "Height at the beginning";
  parameter Real v0(unit = "m/s", min = -50, max = 50) = 0 "Velocity at the beginning";
  parameter Real v_rest(unit = "m/s", min = 0.001, max = 1) = 0.05 "Slower bounces end at rest";
  Real h(unit = "m", start = h0, fixed = true) "Height";
  Real v(unit = "m/s", start = v0, fixed = true) "Velocity, upward";
  Boolean flying(start = true, fixed = true) "False once it lies still";
  output Real height(unit = "m") "Height as measured";
  output Real speed(unit = "m/s") "Velocity as measured";
equation
  der(h) = if flying then v else 0;
  der(v) = if flying then -g else 0;
  when h <= 0 then
    flying = -e*pre(v) > v_rest;
    reinit(v, if flying then -e*pre(v) else 0);
  end when;
  height = h;
  speed = v;
end bouncingBall;
