// units, limits, nominal values, quantities
model Attributes
  parameter Real R(unit = "Ohm", min = 0.1, max = 1e3, quantity = "Resistance") = 5.0 "Resistance";
  Real T(unit = "K", displayUnit = "degC", nominal = 300.0, start = 290.0, fixed = true) "Temperature";
equation
  R * der(T) = 300.0 - T;
end Attributes;
