package BouncingBall "A ball that is dropped on a hard floor"
  model Ball "It bounces for ever: the bounces pile up at a finite time"
    parameter Real g(unit = "m/s2", min = 0.1, max = 30) = 9.81 "Gravity";
    parameter Real e(unit = "1", min = 0, max = 1) = 0.8 "Part of the speed that a bounce leaves";
    parameter Real h0(unit = "m", min = 0, max = 100) = 1 "Height at the beginning";
    parameter Real v0(unit = "m/s", min = -50, max = 50) = 0 "Velocity at the beginning, upward";
    output Real h(unit = "m", start = h0, fixed = true) "Height";
    Real v(unit = "m/s", start = v0, fixed = true) "Velocity, upward";
  equation
    der(h) = v;
    der(v) = -g;
    when h <= 0 then
      reinit(v, -e*pre(v));
    end when;
    annotation(experiment(StopTime = 3));
  end Ball;

  model RestingBall "It lies still once a bounce is slower than v_rest"
    parameter Real g(unit = "m/s2", min = 0.1, max = 30) = 9.81 "Gravity";
    parameter Real e(unit = "1", min = 0, max = 1) = 0.8 "Part of the speed that a bounce leaves";
    parameter Real h0(unit = "m", min = 0, max = 100) = 1 "Height at the beginning";
    parameter Real v_rest(unit = "m/s", min = 1e-3, max = 1) = 0.05 "Slower bounces end at rest";
    output Real h(unit = "m", start = h0, fixed = true) "Height";
    Real v(unit = "m/s", start = 0, fixed = true) "Velocity, upward";
    Boolean flying(start = true, fixed = true) "False once it lies still";
  equation
    der(h) = if flying then v else 0;
    der(v) = if flying then -g else 0;
    when h <= 0 then
      flying = -e*pre(v) > v_rest;
      reinit(v, if flying then -e*pre(v) else 0);
    end when;
    annotation(experiment(StopTime = 6));
  end RestingBall;
end BouncingBall;
