model Reactor "A stirred tank at rest: A to B to C, and twice A to D"
  parameter Real k1(unit = "1/min") = 5/6 "A to B";
  parameter Real k2(unit = "1/min") = 5/3 "B to C";
  parameter Real k3(unit = "m3/(mol.min)") = 1/6000 "Twice A to D";
  input Real sv(unit = "1/min") "Space velocity";
  input Real caf(unit = "mol/m3") "A in the feed";
  Real ca(unit = "mol/m3", start = 3000, nominal = 1000) "A";
  Real cb(unit = "mol/m3", start = 1000, nominal = 1000) "B";
  Real cc(unit = "mol/m3", start = 1000, nominal = 1000) "C";
  Real cd(unit = "mol/m3", start = 1000, nominal = 1000) "D";
equation
  0 = sv*caf - sv*ca - k1*ca - 2*k3*ca^2;
  0 = -sv*cb + k1*ca - k2*cb;
  0 = -sv*cc + k2*cb;
  0 = -sv*cd + k3*ca^2;
end Reactor;
