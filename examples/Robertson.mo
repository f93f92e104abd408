model Robertson "Robertson's autocatalytic reaction: the classic stiff problem"
  parameter Real k1(unit = "1/s", min = 0, max = 1) = 0.04 "A -> B";
  parameter Real k2(unit = "m3/(mol.s)", min = 0, max = 1e9, nominal = 3e7) = 3e7 "B + B -> B + C";
  parameter Real k3(unit = "m3/(mol.s)", min = 0, max = 1e6, nominal = 1e4) = 1e4 "B + C -> A + C";
  output Real A(unit = "mol/m3", start = 1, fixed = true) "Concentration of A";
  output Real B(unit = "mol/m3", start = 0, fixed = true, nominal = 1e-5) "Concentration of B";
  output Real C(unit = "mol/m3", start = 0, fixed = true) "Concentration of C";
equation
  der(A) = -k1*A + k3*B*C;
  der(B) = k1*A - k2*B^2 - k3*B*C;
  der(C) = k2*B^2;
  annotation(experiment(StopTime = 1e5));
end Robertson;
