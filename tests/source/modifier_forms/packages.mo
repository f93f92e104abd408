  package PM constant Real k = 1; constant Real g = 2; replaceable function f input Real u; output Real v; algorithm v := k*u + g; end f; end PM;
  package PM2 extends PM(k = 3); end PM2;
  model HP replaceable package Medium = PM; parameter Real kk = Medium.k; Real y; equation y = Medium.f(1.0)+0*time; end HP;
