within Modelica.Mechanics.Translational;
package Sensors "Ideal instruments"
  import Modelica.Mechanics.Translational.Interfaces;
  import Modelica.Units.SI;

  model PositionSensor
    extends Interfaces.PartialAbsoluteSensor;
    Modelica.Blocks.Interfaces.RealOutput s(final quantity="Length", final unit="m");
  equation
    s = flange.s;
  end PositionSensor;

  model SpeedSensor
    extends Interfaces.PartialAbsoluteSensor;
    Modelica.Blocks.Interfaces.RealOutput v(final quantity="Velocity", final unit="m/s");
  equation
    v = der(flange.s);
  end SpeedSensor;

  model AccSensor
    extends Interfaces.PartialAbsoluteSensor;
    SI.Velocity v;
    Modelica.Blocks.Interfaces.RealOutput a(final unit="m/s2");
  equation
    v = der(flange.s);
    a = der(v);
  end AccSensor;

  model RelPositionSensor
    extends Interfaces.PartialRelativeSensor;
    Modelica.Blocks.Interfaces.RealOutput s_rel(final quantity="Length", final unit="m");
  equation
    s_rel = flange_b.s - flange_a.s;
    0 = flange_a.f;
  end RelPositionSensor;

  model RelSpeedSensor
    extends Interfaces.PartialRelativeSensor;
    SI.Position s_rel;
    Modelica.Blocks.Interfaces.RealOutput v_rel(final quantity="Velocity", final unit="m/s");
  equation
    s_rel = flange_b.s - flange_a.s;
    v_rel = der(s_rel);
    0 = flange_a.f;
  end RelSpeedSensor;

  model ForceSensor
    extends Interfaces.PartialRelativeSensor;
    Modelica.Blocks.Interfaces.RealOutput f(final unit="N");
  equation
    flange_a.s = flange_b.s;
    f = flange_a.f;
  end ForceSensor;

  model PowerSensor
    extends Interfaces.PartialRelativeSensor;
    Modelica.Blocks.Interfaces.RealOutput power(final unit="W");
  equation
    flange_a.s = flange_b.s;
    power = flange_a.f*der(flange_a.s);
  end PowerSensor;
end Sensors;
