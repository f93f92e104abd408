model Elimination "A dose in one compartment, and what the blood makes of it"
  parameter Real D(unit = "mg") = 100 "Dose";
  parameter Real V(unit = "l", min = 0) = 30 "Volume of distribution";
  parameter Real k(unit = "1/h", min = 0) = 0.2 "Rate of elimination";
  output Real c(unit = "mg/l", start = D/V, fixed = true) "Concentration";
equation
  der(c) = -k*c;
end Elimination;
