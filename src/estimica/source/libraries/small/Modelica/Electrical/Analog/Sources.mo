within Modelica.Electrical.Analog;
package Sources "Voltages and currents"
  import Modelica.Electrical.Analog.Interfaces;
  import Modelica.Units.SI;

  model SignalVoltage "A voltage that is a signal"
    Interfaces.PositivePin p;
    Interfaces.NegativePin n;
    Modelica.Blocks.Interfaces.RealInput v(unit="V");
    SI.Current i "From p to n";
  equation
    v = p.v - n.v;
    0 = p.i + n.i;
    i = p.i;
  end SignalVoltage;

  model SignalCurrent "A current that is a signal"
    Interfaces.PositivePin p;
    Interfaces.NegativePin n;
    SI.Voltage v "From p to n";
    Modelica.Blocks.Interfaces.RealInput i(unit="A") "From p to n";
  equation
    v = p.v - n.v;
    0 = p.i + n.i;
    i = p.i;
  end SignalCurrent;

  model ConstantVoltage
    parameter SI.Voltage V(start=1);
    extends Interfaces.OnePort;
  equation
    v = V;
  end ConstantVoltage;

  model StepVoltage
    parameter SI.Voltage V(start=1);
    extends Interfaces.VoltageSource(redeclare Modelica.Blocks.Sources.Step signalSource(
      height=V));
  end StepVoltage;

  model RampVoltage
    parameter SI.Voltage V(start=1);
    parameter SI.Time duration(min=Modelica.Constants.small, start=2);
    extends Interfaces.VoltageSource(redeclare Modelica.Blocks.Sources.Ramp signalSource(
      height=V, duration=duration));
  end RampVoltage;

  model SineVoltage
    parameter SI.Voltage V(start=1);
    parameter SI.Angle phase = 0;
    parameter SI.Frequency f(start=1);
    extends Interfaces.VoltageSource(redeclare Modelica.Blocks.Sources.Sine signalSource(
      amplitude=V, f=f, phase=phase));
  end SineVoltage;

  model CosineVoltage
    parameter SI.Voltage V(start=1);
    parameter SI.Angle phase = 0;
    parameter SI.Frequency f(start=1);
    extends Interfaces.VoltageSource(redeclare Modelica.Blocks.Sources.Cosine signalSource(
      amplitude=V, f=f, phase=phase));
  end CosineVoltage;

  model ExpSineVoltage
    parameter SI.Voltage V(start=1);
    parameter SI.Frequency f(start=2);
    parameter SI.Angle phase = 0;
    parameter SI.DampingCoefficient damping(start=1);
    extends Interfaces.VoltageSource(redeclare Modelica.Blocks.Sources.ExpSine signalSource(
      amplitude=V, f=f, phase=phase, damping=damping));
  end ExpSineVoltage;

  model PulseVoltage
    parameter SI.Voltage V(start=1);
    parameter Real width(final min=Modelica.Constants.small, final max=100, start=50) "Percent of the period";
    parameter SI.Time period(final min=Modelica.Constants.small, start=1);
    extends Interfaces.VoltageSource(redeclare Modelica.Blocks.Sources.Pulse signalSource(
      amplitude=V, width=width, period=period));
  end PulseVoltage;

  model SawToothVoltage
    parameter SI.Voltage V(start=1);
    parameter SI.Time period(start=1);
    extends Interfaces.VoltageSource(redeclare Modelica.Blocks.Sources.SawTooth signalSource(
      amplitude=V, period=period));
  end SawToothVoltage;

  model TrapezoidVoltage
    parameter SI.Voltage V(start=1);
    parameter SI.Time rising(final min=0, start=0);
    parameter SI.Time width(final min=0, start=0.5);
    parameter SI.Time falling(final min=0, start=0);
    parameter SI.Time period(final min=Modelica.Constants.small, start=1);
    parameter Integer nperiod(start=-1);
    extends Interfaces.VoltageSource(redeclare Modelica.Blocks.Sources.Trapezoid signalSource(
      amplitude=V, rising=rising, width=width, falling=falling, period=period, nperiod=nperiod));
  end TrapezoidVoltage;

  model ConstantCurrent
    parameter SI.Current I(start=1);
    extends Interfaces.OnePort;
  equation
    i = I;
  end ConstantCurrent;

  model StepCurrent
    parameter SI.Current I(start=1);
    extends Interfaces.CurrentSource(redeclare Modelica.Blocks.Sources.Step signalSource(
      height=I));
  end StepCurrent;

  model RampCurrent
    parameter SI.Current I(start=1);
    parameter SI.Time duration(min=Modelica.Constants.small, start=2);
    extends Interfaces.CurrentSource(redeclare Modelica.Blocks.Sources.Ramp signalSource(
      height=I, duration=duration));
  end RampCurrent;

  model SineCurrent
    parameter SI.Current I(start=1);
    parameter SI.Angle phase = 0;
    parameter SI.Frequency f(start=1);
    extends Interfaces.CurrentSource(redeclare Modelica.Blocks.Sources.Sine signalSource(
      amplitude=I, f=f, phase=phase));
  end SineCurrent;

  model CosineCurrent
    parameter SI.Current I(start=1);
    parameter SI.Angle phase = 0;
    parameter SI.Frequency f(start=1);
    extends Interfaces.CurrentSource(redeclare Modelica.Blocks.Sources.Cosine signalSource(
      amplitude=I, f=f, phase=phase));
  end CosineCurrent;

  model ExpSineCurrent
    parameter SI.Current I(start=1);
    parameter SI.Frequency f(start=2);
    parameter SI.Angle phase = 0;
    parameter SI.DampingCoefficient damping(start=1);
    extends Interfaces.CurrentSource(redeclare Modelica.Blocks.Sources.ExpSine signalSource(
      amplitude=I, f=f, phase=phase, damping=damping));
  end ExpSineCurrent;

  model PulseCurrent
    parameter SI.Current I(start=1);
    parameter Real width(final min=Modelica.Constants.small, final max=100, start=50) "Percent of the period";
    parameter SI.Time period(final min=Modelica.Constants.small, start=1);
    extends Interfaces.CurrentSource(redeclare Modelica.Blocks.Sources.Pulse signalSource(
      amplitude=I, width=width, period=period));
  end PulseCurrent;

  model SawToothCurrent
    parameter SI.Current I(start=1);
    parameter SI.Time period(start=1);
    extends Interfaces.CurrentSource(redeclare Modelica.Blocks.Sources.SawTooth signalSource(
      amplitude=I, period=period));
  end SawToothCurrent;

  model TrapezoidCurrent
    parameter SI.Current I(start=1);
    parameter SI.Time rising(final min=0, start=0);
    parameter SI.Time width(final min=0, start=0.5);
    parameter SI.Time falling(final min=0, start=0);
    parameter SI.Time period(final min=Modelica.Constants.small, start=1);
    parameter Integer nperiod(start=-1);
    extends Interfaces.CurrentSource(redeclare Modelica.Blocks.Sources.Trapezoid signalSource(
      amplitude=I, rising=rising, width=width, falling=falling, period=period, nperiod=nperiod));
  end TrapezoidCurrent;
end Sources;
