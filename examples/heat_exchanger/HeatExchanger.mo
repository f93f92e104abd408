package HeatExchanger "A superheater: in ten cells, and lumped into one"
  partial model Superheater "Steam flows in at one end, is heated by gas and leaves through a valve"
    parameter Real m0(unit = "kg/s") = 100 "Nominal mass flow";
    parameter Real A(unit = "m2") = 196 "Area between wall and steam";
    parameter Real UA_gas(unit = "W/K") = 1.7e5 "Heat transfer from gas to wall";
    parameter Real cp(unit = "J/(kg.K)") = 3500 "Heat capacity of steam";
    parameter Real K(unit = "kg/(s.Pa)") = 5.9e-6 "Flow through the open valve for each pascal";
    input Real m_in(unit = "kg/s") "Mass flow at the inlet";
    input Real h_in(unit = "J/kg") "Enthalpy at the inlet";
    input Real T_gas(unit = "K") "Temperature of the gas";
    input Real valve(unit = "1") "Opening of the valve";
    output Real p(unit = "Pa", start = 1.7e7, nominal = 1e7) "Pressure";
    output Real h_out(unit = "J/kg", start = 3.39e6, nominal = 1e6) "Enthalpy at the outlet";
  protected
    function temperature "Temperature of steam"
      input Real h;
      input Real cp;
      output Real T;
    algorithm
      T := 620 + (h - 2.7e6)/cp;
    end temperature;
  end Superheater;

  model Cells "The plant: ten cells of steam and wall, density after the gas law"
    extends Superheater;
    constant Integer n = 10;
    parameter Real V(unit = "m3") = 60 "Volume of steam";
    parameter Real mass(unit = "kg") = 40e3 "Mass of the wall";
    parameter Real c_wall(unit = "J/(kg.K)") = 500 "Heat capacity of the wall";
    parameter Real alpha(unit = "W/(m2.K)") = 3300 "Heat transfer to the steam at nominal flow";
    Real h[n](each start = 3.2e6, each nominal = 1e6) "Enthalpy of each cell";
    Real T_wall[n](each start = 800, each nominal = 1000) "Wall of each cell";
    Real T[n](each start = 750) "Steam of each cell";
    Real rho[n] "Density of each cell";
    Real q[n] "Heat into the steam of each cell";
    Real m_out;
  equation
    for i in 1:n loop
      T[i] = temperature(h[i], cp);
      rho[i] = p/(0.85*461.5*T[i]);
      q[i] = alpha*(m_in/m0)^0.8*A/n*(T_wall[i] - T[i]);
      mass*c_wall/n*der(T_wall[i]) = UA_gas/n*(T_gas - T_wall[i]) - q[i];
    end for;
    V/n*rho[1]*der(h[1]) = m_in*(h_in - h[1]) + q[1] + V/n*der(p);
    for i in 2:n loop
      V/n*rho[i]*der(h[i]) = m_in*(h[i - 1] - h[i]) + q[i] + V/n*der(p);
    end for;
    m_out = K*valve*p*sqrt(820/T[n]);
    V/(0.85*461.5*T[5])*der(p) = m_in - m_out;
    h_out = h[n];
  initial equation
    der(p) = 0;
    der(h) = zeros(n);
    der(T_wall) = zeros(n);
  end Cells;

  model Lumped "The simplified model: one volume, one wall, four numbers to be found"
    extends Superheater;
    parameter Real C1(unit = "kg/kPa", min = 0) = 0.068 "Steam that is stored for each kilopascal";
    parameter Real C2(unit = "1", min = 0, max = 1) = 0.8
      "Weight of the outlet in the steam's mean temperature";
    parameter Real C3(unit = "1") = 0.4 "Exponent of the flow in the heat transfer";
    parameter Real alpha_wall(unit = "W/(m2.K)", min = 0) = 3900
      "Heat transfer to the steam at nominal flow";
    parameter Real M(unit = "kg") = 3500 "Mass of the steam";
    parameter Real C_wall(unit = "J/K") = 2e7 "Heat capacity of the wall";
    Real T_wall(unit = "K", start = 811, nominal = 1000) "Temperature of the wall";
    Real T "Mean temperature of the steam";
    Real q "Heat into the steam";
  equation
    T = C2*temperature(h_out, cp) + (1 - C2)*temperature(h_in, cp);
    q = alpha_wall*(m_in/m0)^C3*A*(T_wall - T);
    C_wall*der(T_wall) = UA_gas*(T_gas - T_wall) - q;
    M*der(h_out) = m_in*(h_in - h_out) + q;
    1e-3*C1*der(p) = m_in - K*valve*p;
  initial equation
    der(p) = 0;
    der(h_out) = 0;
    der(T_wall) = 0;
  end Lumped;
end HeatExchanger;
