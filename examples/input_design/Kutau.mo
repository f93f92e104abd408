model Kutau "First order with a gain that depends on the input"
  parameter Real k0 = 1.5;
  parameter Real k1 = 4;
  parameter Real tau(unit = "s") = 2;
  input Real u;
  output Real y(start = 0, fixed = true);
equation
  tau*der(y) = k0*(1 + k1/(0.5 + u^2))*u - y;
end Kutau;
