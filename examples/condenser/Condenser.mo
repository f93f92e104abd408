model Condenser "An automotive condenser in twelve cells: refrigerant and wall, air across"
  constant Integer n = 12 "Cells";
  parameter Real C1 = 0.3 "Factor of the heat transfer, Nu = C1 Re^C2 Pr^(1/3)";
  parameter Real C2 = 0.5 "Exponent of the heat transfer";
  parameter Real C3(unit = "Pa") = 80 "Pressure drop at the nominal flow of air, C3 (m/m0)^C4";
  parameter Real C4 = 1.5 "Exponent of the pressure drop";
  parameter Real m0(unit = "kg/s") = 1 "Nominal flow of air";
  parameter Real C_wall(unit = "J/K") = 2500 "Heat capacity of the wall";
  parameter Real M(unit = "kg") = 0.5 "Refrigerant inside";
  parameter Real UA_ref(unit = "W/K") = 4000 "Heat transfer from refrigerant to wall";
  parameter Real A(unit = "m2") = 5 "Area on the side of the air";
  parameter Real A_front(unit = "m2") = 0.25 "Frontal area";
  parameter Real D(unit = "m") = 3e-3 "Hydraulic diameter";
  input Real v(unit = "m/s", start = 4) "Velocity of the air at the inlet";
  input Real T_air(unit = "K", start = 303) "Temperature of the air at the inlet";
  input Real T_sat(unit = "K", start = 328) "Temperature at which the refrigerant condenses";
  input Real m_ref(unit = "kg/s", start = 0.06) "Flow of refrigerant";
  input Real h_in(unit = "J/kg", start = 4.5e5) "Enthalpy of the refrigerant at the inlet";
  output Real Q(unit = "W") "Heat taken up by the air";
  output Real dp(unit = "Pa") "Pressure drop of the air";
  output Real h_out(unit = "J/kg") "Enthalpy of the refrigerant at the outlet";
protected
  constant Real rho = 1.15, mu = 1.85e-5, lambda = 0.026, Pr = 0.71, cp = 1006 "Air";
  constant Real h_liquid = 2.7e5, h_vapour = 4.25e5, c_liquid = 1500, c_vapour = 1100;
  Real h[n](each start = 3.4e5, each nominal = 1e5, each fixed = true);
  Real T_wall[n](each start = 320, each nominal = 300, each fixed = true);
  Real T[n](each unit = "K") "Refrigerant";
  Real q_ref[n](each unit = "W");
  Real q_air[n](each unit = "W");
  Real m_air(unit = "kg/s");
  Real Re, Nu, share;

  function above "How far x is above zero, rounded off over a width of 2e"
    input Real x;
    input Real e;
    output Real y;
  algorithm
    y := (x + sqrt(x^2 + e^2))/2;
  end above;
equation
  m_air = rho*v*A_front;
  Re = rho*v*D/mu;
  Nu = C1*Re^C2*Pr^(1/3);
  share = 1 - exp(-Nu*lambda/D*A/(m_air*cp));
  dp = C3*(m_air/m0)^C4;
  for i in 1:n loop
    T[i] = T_sat + above(h[i] - h_vapour, 2000)/c_vapour - above(h_liquid - h[i], 2000)/c_liquid;
    q_ref[i] = UA_ref/n*(T[i] - T_wall[i]);
    q_air[i] = m_air*cp/n*share*(T_wall[i] - T_air);
    C_wall/n*der(T_wall[i]) = q_ref[i] - q_air[i];
  end for;
  M/n*der(h[1]) = m_ref*(h_in - h[1]) - q_ref[1];
  for i in 2:n loop
    M/n*der(h[i]) = m_ref*(h[i - 1] - h[i]) - q_ref[i];
  end for;
  Q = sum(q_air);
  h_out = h[n];
  annotation(experiment(StopTime = 100));
end Condenser;
