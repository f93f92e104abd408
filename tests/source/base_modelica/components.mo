// dotted names in quotes, connections as sums of flows
connector Pin
  Real v;
  flow Real i;
end Pin;
model Resistor
  Pin p, n;
  parameter Real R = 1.0;
equation
  p.v - n.v = R * p.i;
  p.i + n.i = 0;
end Resistor;
model Capacitor
  Pin p, n;
  parameter Real C = 1.0;
  Real v(start = 0, fixed = true);
equation
  v = p.v - n.v;
  p.i = C * der(v);
  p.i + n.i = 0;
end Capacitor;
model Source
  Pin p, n;
  parameter Real V = 10.0;
equation
  p.v - n.v = V;
  p.i + n.i = 0;
end Source;
model Ground
  Pin p;
equation
  p.v = 0;
end Ground;
model Components
  Resistor r(R = 2.0);
  Capacitor c(C = 0.25);
  Source s;
  Ground g;
equation
  connect(s.p, r.p);
  connect(r.n, c.p);
  connect(c.n, s.n);
  connect(s.n, g.p);
end Components;
