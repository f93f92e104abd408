package Ohm
  connector Pin
    Real v(unit="V");
    flow Real i(unit="A");
  end Pin;
  partial model OnePort
    Pin p;
    Pin n;
    Real v(unit="V");
    Real i(unit="A");
  equation
    v = p.v - n.v;
    0 = p.i + n.i;
    i = p.i;
  end OnePort;
  model Resistor "Ohm's law"
    extends OnePort;
    parameter Real R(unit="Ohm") = 1 "resistance";
  equation
    v = R*i;
  end Resistor;
end Ohm;
