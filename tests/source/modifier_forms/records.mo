  record R parameter Real a = 1; parameter Real b = 2; end R;
  record RX extends R; parameter Real c = 3; end RX;
  record RS extends R(a = 8); end RS;
  model HR replaceable record Rec = R; parameter Rec r; Real y; equation y = r.a + r.b + 0*time; end HR;
  model HRC replaceable parameter R r; Real y; equation y = r.a + r.b + 0*time; end HRC;
