package Controllers "A drive with a resonance, and what may control it"
  partial model Drive "Two masses and a motor with a lag"
    parameter Real k = 4 "Gain of the controller";
    parameter Real Ti = 0.8 "Integral time of the controller";
    parameter Real T = 0.3 "Time constant of the drive";
    parameter Real zeta = 0.3 "Damping of the drive";
    output Real y(start = 0, fixed = true) "What is controlled";
    Real v(start = 0, fixed = true) "Its speed";
    Real motor(start = 0, fixed = true) "What the motor gives";
    Real u "What the controller asks for";
    Real load "Disturbance";
    Real reference "What y shall be";
  equation
    reference = if time < 1 then 0 else 1;
    load = if time < 6 then 0 else 0.4;
    der(y) = v;
    der(v) = (motor - load - y - 2*zeta*T*v)/T^2;
    0.05*der(motor) = u - motor;
  end Drive;

  model Step "PI control; the reference and the load are steps"
    extends Drive;
    Real xi(start = 0, fixed = true) "Integral of the deviation";
  equation
    der(xi) = (reference - y)/Ti;
    u = 0.3*k*(reference - y + xi);
  end Step;

  model Limited "PI control with a limiter and anti-windup"
    extends Drive;
    parameter Real limit = 1.3 "Largest output of the controller";
    Real xi(start = 0, fixed = true) "Integral of the deviation";
    Real asked "Output without limits";
  equation
    asked = 0.3*k*(reference - y + xi);
    u = if asked > limit then limit elseif asked < -limit then -limit else asked;
    der(xi) = (reference - y)/Ti + 2*(u - asked);
  end Limited;

  model OnOff "On or off with hysteresis"
    parameter Real h = 0.4 "Half the width of the hysteresis";
    parameter Real T = 4 "Time constant of the heater";
    parameter Real P = 10 "What the heater reaches in the long run";
    parameter Real reference = 5 "What y shall be";
    output Real y(start = 0, fixed = true) "Temperature";
    Real w(start = 0, fixed = true) "Temperature of the heater";
    Boolean on(start = true, fixed = true);
  equation
    on = if pre(on) then y < reference + h else y < reference - h;
    T*der(w) = (if on then P else 0) - w;
    der(y) = w - y;
  end OnOff;
end Controllers;
