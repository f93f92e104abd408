model Tube "Water warms up in a tube whose wall is held at one temperature"
  parameter Real d(unit = "m") = 0.02 "inner diameter";
  parameter Real L(unit = "m") = 1.5 "length";
  parameter Real cp(unit = "J/(kg.K)") = 4180 "heat capacity of water";
  parameter Real lambda(unit = "W/(m.K)") = 0.63 "its conductivity";
  parameter Real C = 0.03 "factor of the correlation";
  parameter Real m = 0.7 "exponent of the Reynolds number";
  parameter Real n = 0.3 "exponent of the Prandtl number";
  input Real m_flow(unit = "kg/s", start = 0.2) "mass flow";
  input Real T_in(unit = "K", start = 290) "temperature at the inlet";
  input Real T_wall(unit = "K", start = 360) "temperature of the wall";
  output Real T_out(unit = "K", start = 310) "temperature at the outlet";
  Real T(unit = "K") = (T_in + T_wall)/2 "temperature of the film at the wall";
  Real mu(unit = "Pa.s") "viscosity at that temperature";
  Real Re "Reynolds number";
  Real Pr "Prandtl number";
  Real Nu(start = 100) "Nusselt number";
  Real alpha(unit = "W/(m2.K)", start = 3000) "heat transfer coefficient";
protected
  constant Real pi = 3.14159265358979;
equation
  mu = 2.414e-5*10^(247.8/(T - 140));
  Re = 4*m_flow/(pi*d*mu);
  Pr = mu*cp/lambda;
  T_out = T_wall - (T_wall - T_in)*exp(-alpha*pi*d*L/(m_flow*cp));
  alpha = Nu*lambda/d;
  Nu = C*Re^m*Pr^n;
end Tube;
