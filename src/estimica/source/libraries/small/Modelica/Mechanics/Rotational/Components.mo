within Modelica.Mechanics.Rotational;
package Components "Shafts, springs and gears"
  import Modelica.Mechanics.Rotational.Interfaces;
  import Modelica.Units.SI;

  model Fixed "Stands still"
    parameter SI.Angle phi0 = 0;
    Interfaces.Flange_b flange;
  equation
    flange.phi = phi0;
  end Fixed;

  model Inertia
    extends Interfaces.PartialTwoFlanges;
    parameter SI.Inertia J(min=0, start=1);
    parameter StateSelect stateSelect = StateSelect.default "Of phi and w";
    SI.Angle phi(stateSelect=stateSelect);
    SI.AngularVelocity w(stateSelect=stateSelect);
    SI.AngularAcceleration a;
  equation
    phi = flange_a.phi;
    phi = flange_b.phi;
    w = der(phi);
    a = der(w);
    J*a = flange_a.tau + flange_b.tau;
  end Inertia;

  model Disc "Stiff, without mass"
    extends Interfaces.PartialTwoFlanges;
    parameter SI.Angle deltaPhi = 0 "Between its flanges";
    SI.Angle phi "Of its middle";
  equation
    flange_a.phi = phi - deltaPhi/2;
    flange_b.phi = phi + deltaPhi/2;
    0 = flange_a.tau + flange_b.tau;
  end Disc;

  model Spring
    extends Interfaces.PartialCompliant;
    parameter SI.RotationalSpringConstant c(final min=0, start=1e5);
    parameter SI.Angle phi_rel0 = 0 "Where it is relaxed";
  equation
    tau = c*(phi_rel - phi_rel0);
  end Spring;

  model Damper
    extends Interfaces.PartialCompliantWithRelativeStates;
    parameter SI.RotationalDampingConstant d(final min=0, start=0);
    extends Modelica.Thermal.HeatTransfer.Interfaces.PartialElementaryConditionalHeatPortWithoutT;
  equation
    tau = d*w_rel;
    lossPower = tau*w_rel;
  end Damper;

  model SpringDamper "Side by side"
    parameter SI.RotationalSpringConstant c(final min=0, start=1e5);
    parameter SI.RotationalDampingConstant d(final min=0, start=0);
    parameter SI.Angle phi_rel0 = 0 "Where the spring is relaxed";
    extends Interfaces.PartialCompliantWithRelativeStates;
    extends Modelica.Thermal.HeatTransfer.Interfaces.PartialElementaryConditionalHeatPortWithoutT;
  protected
    SI.Torque tau_c "Of the spring";
    SI.Torque tau_d "Of the damper";
  equation
    tau_c = c*(phi_rel - phi_rel0);
    tau_d = d*w_rel;
    tau = tau_c + tau_d;
    lossPower = tau_d*w_rel;
  end SpringDamper;

  model IdealGear "phi_a = ratio phi_b"
    extends Interfaces.PartialElementaryTwoFlangesAndSupport2;
    parameter Real ratio(start=1);
    SI.Angle phi_a "Of flange_a against the housing";
    SI.Angle phi_b "Of flange_b against the housing";
  equation
    phi_a = flange_a.phi - phi_support;
    phi_b = flange_b.phi - phi_support;
    phi_a = ratio*phi_b;
    0 = ratio*flange_a.tau + flange_b.tau;
  end IdealGear;

  model IdealGearR2T "Between rotation and translation: phi = ratio s"
    parameter Boolean useSupportR = false annotation (Evaluate=true);
    parameter Boolean useSupportT = false annotation (Evaluate=true);
    Interfaces.Flange_a flangeR;
    Modelica.Mechanics.Translational.Interfaces.Flange_b flangeT;
    Interfaces.Support supportR if useSupportR;
    Modelica.Mechanics.Translational.Interfaces.Support supportT if useSupportT;
    parameter Real ratio(final unit="rad/m", start=1) "Angle for a metre";
  protected
    Interfaces.InternalSupport internalSupportR(tau=-flangeR.tau);
    Modelica.Mechanics.Translational.Interfaces.InternalSupport internalSupportT(f=-flangeT.f);
    Fixed fixedR if not useSupportR;
    Modelica.Mechanics.Translational.Components.Fixed fixedT if not useSupportT;
  equation
    connect(internalSupportR.flange, supportR);
    connect(internalSupportR.flange, fixedR.flange);
    connect(internalSupportT.flange, supportT);
    connect(internalSupportT.flange, fixedT.flange);
    flangeR.phi - internalSupportR.phi = ratio*(flangeT.s - internalSupportT.s);
    0 = ratio*flangeR.tau + flangeT.f;
  end IdealGearR2T;
end Components;
