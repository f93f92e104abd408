model DrumBoiler "Boiler with drum, turbine and reheater, as two first-order energy balances"
  // T. Bohlin, Practical Grey-Box Process Identification, Springer, 2006, in the form used by
  // E. Palmkvist, Lund University, 2014, equation (5.5).
  parameter Real T_D(unit = "s", min = 10, max = 500, nominal = 285) = 285 "Time constant of the drum";
  parameter Real T_R(unit = "s", min = 1, max = 100, nominal = 19) = 19 "Time constant of the reheater";
  parameter Real A4(unit = "1", min = 0, max = 1) = 0.26 "Share of the power that the drum steam yields";
  parameter Real w_E(unit = "MW", min = -50, max = 50, nominal = 10) = 10 "Constant disturbance of the power";
  parameter Real w_P(unit = "bar", min = -50, max = 50, nominal = 10) = -10 "Constant disturbance of the pressure";
  parameter Real x10(unit = "bar", min = 0, max = 300, nominal = 100) = 148 "Drum pressure at the beginning";
  parameter Real x20(unit = "kg/s", min = 0, max = 100, nominal = 10) = 28 "Reheater flow at the beginning";
  parameter Real K1 = 0.3 "Gain of the drum";
  parameter Real K2 = 0.064 "Gain of the reheater";
  parameter Real K3 = 0.32 "Gain of the turbine";
  parameter Real A1 = 14 "Heat of the fuel";
  parameter Real A2 = 3.3 "Steam flow through the open valve";
  parameter Real A3 = 15 "Steam flow through the reheater";
  input Real uc(unit = "1", min = 0, max = 1) "Position of the control valve";
  input Real fc(unit = "kg/s", min = 0) "Fuel flow";
  output Real E(unit = "MW") "Electric power";
  output Real P(unit = "bar") "Drum pressure, as measured";
  Real x1(unit = "bar", start = x10, fixed = true, nominal = 100) "Drum pressure";
  Real x2(unit = "kg/s", start = x20, fixed = true, nominal = 10) "Reheater flow";
protected
  Real steam "Steam flow that leaves the drum";
equation
  steam = A2*uc*x1;
  der(x1) = K1/T_D*(A1*fc - steam);
  der(x2) = K2/T_R*(steam - A3*x2);
  E = K3*(A4*steam + (1 - A4)*A3*x2) + w_E;
  P = x1 + w_P;
  annotation(experiment(StopTime = 1000));
end DrumBoiler;
