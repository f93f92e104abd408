within Modelica.Electrical.Analog;
package Interfaces "Pins and what components have in common"
  import Modelica.Units.SI;

  connector Pin "Potential, and the current into the component"
    SI.ElectricPotential v;
    flow SI.Current i;
  end Pin;

  connector PositivePin
    extends Pin;
  end PositivePin;

  connector NegativePin
    extends Pin;
  end NegativePin;

  partial model TwoPin "Two pins"
    SI.Voltage v "From p to n";
    PositivePin p;
    NegativePin n;
  equation
    v = p.v - n.v;
  end TwoPin;

  partial model OnePort "Two pins with the same current"
    extends TwoPin;
    SI.Current i "From p to n";
  equation
    0 = p.i + n.i;
    i = p.i;
  end OnePort;

  partial model FourPin "Two pairs of pins"
    SI.Voltage v1 "From p1 to n1";
    SI.Voltage v2 "From p2 to n2";
    SI.Current i1 "Into p1";
    SI.Current i2 "Into p2";
    PositivePin p1;
    NegativePin n1;
    PositivePin p2;
    NegativePin n2;
  equation
    v1 = p1.v - n1.v;
    v2 = p2.v - n2.v;
    i1 = p1.i;
    i2 = p2.i;
  end FourPin;

  partial model TwoPort "Two pairs of pins, each with its current"
    extends FourPin;
  equation
    0 = p1.i + n1.i;
    0 = p2.i + n2.i;
  end TwoPort;

  partial model PartialConditionalHeatPort "A component may be heated and cooled"
    parameter Boolean useHeatPort = false annotation (Evaluate=true);
    parameter SI.Temperature T = 293.15 "Its temperature, where no heat port says it";
    Modelica.Thermal.HeatTransfer.Interfaces.HeatPort_a heatPort if useHeatPort;
    SI.Power LossPower "Heat that leaves through the port";
    SI.Temperature T_heatPort "Its temperature";
  end PartialConditionalHeatPort;

  partial model ConditionalHeatPort "A component may be heated and cooled"
    parameter Boolean useHeatPort = false annotation (Evaluate=true);
    parameter SI.Temperature T = 293.15 "Its temperature, where no heat port says it";
    Modelica.Thermal.HeatTransfer.Interfaces.HeatPort_a heatPort(final T=T_heatPort, final Q_flow=-LossPower)
      if useHeatPort;
    SI.Power LossPower "Heat that leaves through the port";
    SI.Temperature T_heatPort "Its temperature";
  equation
    if not useHeatPort then
      T_heatPort = T;
    end if;
  end ConditionalHeatPort;

  partial model AbsoluteSensor "Measures at a pin"
    PositivePin p;
    Modelica.Blocks.Interfaces.RealOutput y;
  equation
    p.i = 0;
  end AbsoluteSensor;

  partial model RelativeSensor "Measures between two pins"
    PositivePin p;
    NegativePin n;
    Modelica.Blocks.Interfaces.RealOutput y;
  end RelativeSensor;

  partial model VoltageSource "A voltage of a signal"
    extends OnePort;
    parameter SI.Voltage offset = 0;
    parameter SI.Time startTime = 0;
    replaceable Modelica.Blocks.Interfaces.SignalSource signalSource(final offset=offset, final startTime=startTime);
  equation
    v = signalSource.y;
  end VoltageSource;

  partial model CurrentSource "A current of a signal"
    extends OnePort;
    parameter SI.Current offset = 0;
    parameter SI.Time startTime = 0;
    replaceable Modelica.Blocks.Interfaces.SignalSource signalSource(final offset=offset, final startTime=startTime);
  equation
    i = signalSource.y;
  end CurrentSource;
end Interfaces;
