within Modelica.Electrical.Analog;
package Basic "Ohm, Kirchhoff and Faraday"
  import Modelica.Electrical.Analog.Interfaces;
  import Modelica.Units.SI;

  model Ground "Where the potential is zero"
    Interfaces.Pin p;
  equation
    p.v = 0;
  end Ground;

  model Resistor
    parameter SI.Resistance R(start=1) "At T_ref";
    parameter SI.Temperature T_ref = 300.15;
    parameter SI.LinearTemperatureCoefficient alpha = 0 "(R(T) - R)/(R (T - T_ref))";
    extends Interfaces.OnePort;
    extends Interfaces.ConditionalHeatPort(T=T_ref);
    SI.Resistance R_actual "At its temperature";
  equation
    R_actual = R*(1 + alpha*(T_heatPort - T_ref));
    v = R_actual*i;
    LossPower = v*i;
  end Resistor;

  model Conductor
    parameter SI.Conductance G(start=1) "At T_ref";
    parameter SI.Temperature T_ref = 300.15;
    parameter SI.LinearTemperatureCoefficient alpha = 0 "Of the resistance";
    extends Interfaces.OnePort;
    extends Interfaces.ConditionalHeatPort(T=T_ref);
    SI.Conductance G_actual "At its temperature";
  equation
    G_actual = G/(1 + alpha*(T_heatPort - T_ref));
    i = G_actual*v;
    LossPower = v*i;
  end Conductor;

  model VariableResistor "Its resistance is a signal"
    parameter SI.Temperature T_ref = 300.15;
    parameter SI.LinearTemperatureCoefficient alpha = 0;
    extends Interfaces.OnePort;
    extends Interfaces.ConditionalHeatPort(T=T_ref);
    SI.Resistance R_actual "At its temperature";
    Modelica.Blocks.Interfaces.RealInput R(final unit="Ohm");
  equation
    R_actual = R*(1 + alpha*(T_heatPort - T_ref));
    v = R_actual*i;
    LossPower = v*i;
  end VariableResistor;

  model Capacitor
    extends Interfaces.OnePort(v(start=0));
    parameter SI.Capacitance C(start=1);
  equation
    i = C*der(v);
  end Capacitor;

  model Inductor
    extends Interfaces.OnePort(i(start=0));
    parameter SI.Inductance L(start=1);
  equation
    L*der(i) = v;
  end Inductor;

  model Gyrator
    extends Interfaces.TwoPort;
    parameter SI.Conductance G1(start=1);
    parameter SI.Conductance G2(start=1);
  equation
    i1 = G2*v2;
    i2 = -G1*v1;
  end Gyrator;

  model RotationalEMF "Between circuit and shaft: tau = k i, v = k w"
    parameter Boolean useSupport = false annotation (Evaluate=true);
    parameter SI.ElectricalTorqueConstant k(start=1);
    SI.Voltage v;
    SI.Current i;
    SI.Angle phi "Of the shaft against the support";
    SI.AngularVelocity w;
    SI.Torque tau "On the flange";
    SI.Torque tauElectrical;
    Interfaces.PositivePin p;
    Interfaces.NegativePin n;
    Modelica.Mechanics.Rotational.Interfaces.Flange_b flange;
    Modelica.Mechanics.Rotational.Interfaces.Support support if useSupport;
  protected
    Modelica.Mechanics.Rotational.Components.Fixed fixed if not useSupport;
    Modelica.Mechanics.Rotational.Interfaces.InternalSupport internalSupport(tau=-flange.tau);
  equation
    v = p.v - n.v;
    0 = p.i + n.i;
    i = p.i;
    phi = flange.phi - internalSupport.phi;
    w = der(phi);
    k*w = v;
    tau = -k*i;
    tauElectrical = -tau;
    tau = flange.tau;
    connect(internalSupport.flange, support);
    connect(internalSupport.flange, fixed.flange);
  end RotationalEMF;

  model EMF = RotationalEMF "Name of version 3";

  model TranslationalEMF "Between circuit and rod: f = k i, v = k vel"
    parameter Boolean useSupport = false annotation (Evaluate=true);
    parameter Real k(start=1, final unit="N/A");
    SI.Voltage v;
    SI.Current i;
    SI.Position s "Of the flange against the support";
    SI.Velocity vel;
    SI.Force f "On the flange";
    SI.Force fElectrical;
    Interfaces.PositivePin p;
    Interfaces.NegativePin n;
    Modelica.Mechanics.Translational.Interfaces.Flange_b flange;
    Modelica.Mechanics.Translational.Interfaces.Support support if useSupport;
  protected
    Modelica.Mechanics.Translational.Components.Fixed fixed if not useSupport;
    Modelica.Mechanics.Translational.Interfaces.InternalSupport internalSupport(f=-flange.f);
  equation
    v = p.v - n.v;
    0 = p.i + n.i;
    i = p.i;
    s = flange.s - internalSupport.s;
    vel = der(s);
    k*vel = v;
    f = -k*i;
    fElectrical = -f;
    f = flange.f;
    connect(internalSupport.flange, support);
    connect(internalSupport.flange, fixed.flange);
  end TranslationalEMF;

  model VCV "Voltage of a voltage"
    extends Interfaces.TwoPort;
    parameter Real gain(start=1);
  equation
    v2 = v1*gain;
    i1 = 0;
  end VCV;

  model VCC "Current of a voltage"
    extends Interfaces.TwoPort;
    parameter SI.Conductance transConductance(start=1);
  equation
    i2 = v1*transConductance;
    i1 = 0;
  end VCC;

  model CCV "Voltage of a current"
    extends Interfaces.TwoPort;
    parameter SI.Resistance transResistance(start=1);
  equation
    v2 = i1*transResistance;
    v1 = 0;
  end CCV;

  model CCC "Current of a current"
    extends Interfaces.TwoPort;
    parameter Real gain(start=1);
  equation
    i2 = i1*gain;
    v1 = 0;
  end CCC;
end Basic;
