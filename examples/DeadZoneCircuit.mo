package DeadZoneCircuit "Series circuit whose resistor carries no voltage below a current of d"
  partial model Base "Source, resistor, inductor and capacitor in series"
    parameter Real R(unit = "Ohm", min = 0.01, max = 10) = 0.5 "Resistance outside the dead zone";
    parameter Real d(unit = "A", min = 0, max = 2) = 0.4 "Half the width of the dead zone";
    parameter Real C(unit = "F", min = 0.01, max = 10) = 0.8 "Capacitance";
    parameter Real L(unit = "H", min = 0.01, max = 10) = 1 "Inductance";
    input Real u(unit = "V") "Source voltage";
    output Real i(unit = "A", start = 0, fixed = true) "Current";
    Real uR(unit = "V") "Voltage over the resistor";
    Real uC(unit = "V", start = 0, fixed = true) "Voltage over the capacitor";
  equation
    L*der(i) = u - uR - uC;
    C*der(uC) = i;
  end Base;

  model WithEvents "The edges of the dead zone are located as events"
    extends Base;
  equation
    uR = if i > d then R*(i - d) elseif i < -d then R*(i + d) else 0;
    annotation(experiment(StopTime = 20));
  end WithEvents;

  model WithoutEvents "The integrator passes over the edges, where the right-hand side is continuous"
    extends Base;
  equation
    uR = noEvent(if i > d then R*(i - d) elseif i < -d then R*(i + d) else 0);
    annotation(experiment(StopTime = 20));
  end WithoutEvents;
end DeadZoneCircuit;
