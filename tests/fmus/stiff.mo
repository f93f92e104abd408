model stiff "Robertson's autocatalytic reaction"
  parameter Real k1(unit = "1/s", min = 0, max = 1) = 0.04 "A to B";
  parameter Real k2(unit = "m3/(mol.s)", min = 0, max = 1e9, nominal = 3e7) = 3e7 "B and B to B and C";
  parameter Real k3(unit = "m3/(mol.s)", min = 0, max = 1e6, nominal = 1e4) = 1e4 "B and C to A and C";
  Real A(unit = "mol/m3", start = 1, fixed = true) "Concentration of A";
  Real B(unit = "mol/m3", start = 0, fixed = true, nominal = 1e-5) "Concentration of B";
  Real C(unit = "mol/m3", start = 0, fixed = true) "Concentration of C";
  output Real a(unit = "mol/m3") "A as measured";
  output Real b(unit = "mol/m3", nominal = 1e-5) "B as measured";
  output Real c(unit = "mol/m3") "C as measured";
equation
  der(A) = -k1*A + k3*B*C;
  der(B) = k1*A - k2*B^2 - k3*B*C;
  der(C) = k2*B^2;
  a = A;
  b = B;
  c = C;
end stiff;
