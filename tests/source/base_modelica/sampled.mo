// a sampled controller
model Sampled
  Real x(start = 0.0, fixed = true);
  discrete Real u(start = 0.0, fixed = true);
equation
  der(x) = -x + u;
  when sample(0.0, 0.1) then
    u = pre(u) + 0.3 * (1.0 - x);
  end when;
end Sampled;
