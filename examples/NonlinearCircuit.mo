package NonlinearCircuit "A circuit from components of our own; its resistor makes it a DAE"
  connector Pin "Electrical pin"
    Real v(unit = "V") "Potential";
    flow Real i(unit = "A") "Current into the component";
  end Pin;

  partial model OnePort "Two pins and what flows between them"
    Pin p "Positive pin";
    Pin n "Negative pin";
    Real u(unit = "V") "Voltage from p to n";
    Real i(unit = "A") "Current from p to n";
  equation
    u = p.v - n.v;
    i = p.i;
    p.i + n.i = 0;
  end OnePort;

  model NonlinearResistor "Voltage R1*i + R2*i^5"
    extends OnePort;
    parameter Real R1(unit = "Ohm", min = 0) = 0.5 "Linear part";
    parameter Real R2(unit = "V/A5", min = 0) = 1 "Part of the fifth power";
  equation
    u = R1*i + R2*i^5;
  end NonlinearResistor;

  model Inductor "u = L der(i)"
    extends OnePort;
    parameter Real L(unit = "H", min = 1e-6) = 1 "Inductance";
  equation
    L*der(i) = u;
  end Inductor;

  model Capacitor "i = C der(u)"
    extends OnePort;
    parameter Real C(unit = "F", min = 1e-6) = 0.5 "Capacitance";
  equation
    C*der(u) = i;
  end Capacitor;

  model VoltageSource "Voltage given from outside"
    extends OnePort;
    input Real voltage(unit = "V") "Source voltage";
  equation
    u = voltage;
  end VoltageSource;

  model Ground "Potential zero"
    Pin p "Pin at potential zero";
  equation
    p.v = 0;
  end Ground;

  partial model Parts "The parts of both circuits and what they are made of"
    parameter Real R1(unit = "Ohm", min = 0.01, max = 10) = 0.5 "Linear part of the resistor";
    parameter Real R2(unit = "V/A5", min = 0, max = 10) = 1 "Fifth-power part of the resistor";
    parameter Real C(unit = "F", min = 0.01, max = 10) = 0.5 "Capacitance";
    parameter Real L(unit = "H", min = 0.01, max = 10) = 1 "Inductance";
    input Real u(unit = "V", start = 10) "Source voltage";
    output Real i(unit = "A") "Current through the inductor";
    VoltageSource source(voltage = u);
    NonlinearResistor resistor(R1 = R1, R2 = R2);
    Capacitor capacitor(C = C, u(start = 0, fixed = true));
    Inductor inductor(L = L, i(start = 0, fixed = true));
    Ground ground;
  equation
    i = inductor.i;
  end Parts;

  model Circuit "Everything in series: the current of the inductor flows through the resistor"
    extends Parts;
  equation
    connect(source.p, resistor.p);
    connect(resistor.n, inductor.p);
    connect(inductor.n, capacitor.p);
    connect(capacitor.n, source.n);
    connect(source.n, ground.p);
    annotation(experiment(StopTime = 20));
  end Circuit;

  model ParallelCircuit "Capacitor and inductor in parallel: the resistor's current must be solved for"
    extends Parts(resistor(i(start = 1)));
  equation
    connect(source.p, resistor.p);
    connect(resistor.n, capacitor.p);
    connect(resistor.n, inductor.p);
    connect(capacitor.n, ground.p);
    connect(inductor.n, ground.p);
    connect(source.n, ground.p);
    annotation(experiment(StopTime = 10));
  end ParallelCircuit;
end NonlinearCircuit;
