  partial function pf input Real u; output Real v; end pf;
  function f1 extends pf; input Real s = 2; algorithm v := s*u; end f1;
  model HF replaceable function f = f1 constrainedby pf; Real y; equation y = f(3.0) + 0*time; end HF;
