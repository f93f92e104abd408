package Resistor "A resistor that warms up, with the connectors of circuits"
  connector Pin "One end of a component"
    Real v(unit = "V") "Potential";
    flow Real i(unit = "A") "Current into the component";
  end Pin;

  partial model TwoPin "Current in at p, out at n"
    Pin p;
    Pin n;
    Real v(unit = "V") "Voltage from p to n";
    Real i(unit = "A") "Current from p to n";
  equation
    v = p.v - n.v;
    i = p.i;
    p.i + n.i = 0;
  end TwoPin;

  model Warm "Its resistance rises with the power that it turns into heat"
    extends TwoPin;
    parameter Real R0(unit = "Ohm") = 10 "Resistance when cold";
    parameter Real alpha(unit = "1/W") = 0.01 "Relative rise for each watt";
  equation
    v = R0*(1 + alpha*v*i)*i;
  end Warm;
end Resistor;
