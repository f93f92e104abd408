within Modelica.Mechanics.Rotational;
package Sensors "Ideal instruments"
  import Modelica.Mechanics.Rotational.Interfaces;
  import Modelica.Units.SI;

  model AngleSensor
    extends Interfaces.PartialAbsoluteSensor;
    Modelica.Blocks.Interfaces.RealOutput phi(final quantity="Angle", final unit="rad", displayUnit="deg");
  equation
    phi = flange.phi;
  end AngleSensor;

  model SpeedSensor
    extends Interfaces.PartialAbsoluteSensor;
    Modelica.Blocks.Interfaces.RealOutput w(final quantity="AngularVelocity", final unit="rad/s");
  equation
    w = der(flange.phi);
  end SpeedSensor;

  model AccSensor
    extends Interfaces.PartialAbsoluteSensor;
    SI.AngularVelocity w;
    Modelica.Blocks.Interfaces.RealOutput a(final unit="rad/s2");
  equation
    w = der(flange.phi);
    a = der(w);
  end AccSensor;

  model RelAngleSensor
    extends Interfaces.PartialRelativeSensor;
    Modelica.Blocks.Interfaces.RealOutput phi_rel(final quantity="Angle", final unit="rad", displayUnit="deg");
  equation
    phi_rel = flange_b.phi - flange_a.phi;
    0 = flange_a.tau;
  end RelAngleSensor;

  model RelSpeedSensor
    extends Interfaces.PartialRelativeSensor;
    SI.Angle phi_rel;
    Modelica.Blocks.Interfaces.RealOutput w_rel(final quantity="AngularVelocity", final unit="rad/s");
  equation
    phi_rel = flange_b.phi - flange_a.phi;
    w_rel = der(phi_rel);
    0 = flange_a.tau;
  end RelSpeedSensor;

  model TorqueSensor
    extends Interfaces.PartialRelativeSensor;
    Modelica.Blocks.Interfaces.RealOutput tau(final unit="N.m");
  equation
    flange_a.phi = flange_b.phi;
    tau = flange_a.tau;
  end TorqueSensor;

  model PowerSensor
    extends Interfaces.PartialRelativeSensor;
    Modelica.Blocks.Interfaces.RealOutput power(final unit="W");
  equation
    flange_a.phi = flange_b.phi;
    power = flange_a.tau*der(flange_a.phi);
  end PowerSensor;
end Sensors;
