model Boiler "Boiler with drum and reheater: the physics alone, as it is written for simulation"
  parameter Real T_D(unit = "s", min = 10, max = 500) = 250 "Time constant of the drum";
  parameter Real T_R(unit = "s", min = 1, max = 100) = 30 "Time constant of the reheater";
  parameter Real A4(unit = "1", min = 0, max = 1) = 0.5 "Share of the power that the drum steam yields";
  parameter Real K1 = 0.3 "Gain of the drum";
  parameter Real K2 = 0.064 "Gain of the reheater";
  parameter Real K3 = 0.32 "Gain of the turbine";
  parameter Real A1 = 14 "Heat of the fuel";
  parameter Real A2 = 3.3 "Steam flow through the open valve";
  parameter Real A3 = 15 "Steam flow through the reheater";
  input Real uc(unit = "1", min = 0, max = 1) "Position of the control valve";
  input Real fc(unit = "kg/s", min = 0) "Fuel flow";
  output Real E(unit = "MW") "Electric power";
  output Real P(unit = "bar", start = 100, fixed = true, nominal = 100) "Drum pressure";
  Real x2(unit = "kg/s", start = 20, fixed = true, nominal = 10) "Reheater flow";
protected
  Real steam "Steam flow that leaves the drum";
equation
  steam = A2*uc*P;
  der(P) = K1/T_D*(A1*fc - steam);
  der(x2) = K2/T_R*(steam - A3*x2);
  E = K3*(A4*steam + (1 - A4)*A3*x2);
  annotation(experiment(StopTime = 1000));
end Boiler;
