// when, reinit and pre
model BouncingBall
  parameter Real e = 0.7;
  Real h(start = 1.0, fixed = true);
  Real v(start = 0.0, fixed = true);
  Integer bounces(start = 0, fixed = true);
equation
  der(h) = v;
  der(v) = -9.81;
  when h <= 0.0 then
    reinit(v, -e * pre(v));
    bounces = pre(bounces) + 1;
  end when;
end BouncingBall;
