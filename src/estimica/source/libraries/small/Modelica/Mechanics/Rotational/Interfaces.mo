within Modelica.Mechanics.Rotational;
package Interfaces "Flanges and what components have in common"
  import Modelica.Units.SI;

  connector Flange "The angle, and the torque on the component"
    SI.Angle phi;
    flow SI.Torque tau;
  end Flange;

  connector Flange_a
    extends Flange;
  end Flange_a;

  connector Flange_b
    extends Flange;
  end Flange_b;

  connector Support "A housing"
    extends Flange;
  end Support;

  model InternalSupport "A housing on which a given torque acts"
    input SI.Torque tau;
    SI.Angle phi;
    Flange_a flange;
  equation
    flange.tau = tau;
    flange.phi = phi;
  end InternalSupport;

  partial model PartialTwoFlanges
    Flange_a flange_a;
    Flange_b flange_b;
  end PartialTwoFlanges;

  partial model PartialOneFlangeAndSupport "The housing may be a flange, or stands still"
    parameter Boolean useSupport = false annotation (Evaluate=true);
    Flange_b flange;
    Support support if useSupport;
  protected
    Support internalSupport;
    Components.Fixed fixed if not useSupport;
  equation
    connect(support, internalSupport);
    connect(internalSupport, fixed.flange);
  end PartialOneFlangeAndSupport;

  partial model PartialTwoFlangesAndSupport "The housing may be a flange, or stands still"
    parameter Boolean useSupport = false annotation (Evaluate=true);
    extends PartialTwoFlanges;
    Support support if useSupport;
  protected
    Support internalSupport;
    Components.Fixed fixed if not useSupport;
  equation
    connect(support, internalSupport);
    connect(internalSupport, fixed.flange);
  end PartialTwoFlangesAndSupport;

  partial model PartialCompliant "A torque between two flanges"
    extends PartialTwoFlanges;
    SI.Angle phi_rel(start=0);
    SI.Torque tau "On flange_b";
  equation
    phi_rel = flange_b.phi - flange_a.phi;
    flange_b.tau = tau;
    flange_a.tau = -tau;
  end PartialCompliant;

  partial model PartialCompliantWithRelativeStates "A torque between two flanges; their distance may be a state"
    parameter SI.Angle phi_nominal(displayUnit="rad", min=0.0) = 1e-4 "Size of phi_rel";
    parameter StateSelect stateSelect = StateSelect.prefer "Of phi_rel and w_rel";
    extends PartialTwoFlanges;
    SI.Angle phi_rel(start=0, stateSelect=stateSelect, nominal=if phi_nominal >= Modelica.Constants.eps then
      phi_nominal else 1);
    SI.AngularVelocity w_rel(start=0, stateSelect=stateSelect);
    SI.AngularAcceleration a_rel(start=0);
    SI.Torque tau "On flange_b";
  equation
    phi_rel = flange_b.phi - flange_a.phi;
    w_rel = der(phi_rel);
    a_rel = der(w_rel);
    flange_b.tau = tau;
    flange_a.tau = -tau;
  end PartialCompliantWithRelativeStates;

  partial model PartialElementaryOneFlangeAndSupport2 "The housing may be a flange, or stands still at 0"
    parameter Boolean useSupport = false annotation (Evaluate=true);
    Flange_b flange;
    Support support(phi=phi_support, tau=-flange.tau) if useSupport;
  protected
    SI.Angle phi_support;
  equation
    if not useSupport then
      phi_support = 0;
    end if;
  end PartialElementaryOneFlangeAndSupport2;

  partial model PartialElementaryTwoFlangesAndSupport2 "The housing may be a flange, or stands still at 0"
    parameter Boolean useSupport = false annotation (Evaluate=true);
    extends PartialTwoFlanges;
    Support support(phi=phi_support, tau=-flange_a.tau - flange_b.tau) if useSupport;
  protected
    SI.Angle phi_support;
  equation
    if not useSupport then
      phi_support = 0;
    end if;
  end PartialElementaryTwoFlangesAndSupport2;

  partial model PartialTorque "A torque between flange and housing"
    extends PartialElementaryOneFlangeAndSupport2;
    SI.Angle phi "Of the flange against the housing";
  equation
    phi = flange.phi - phi_support;
  end PartialTorque;

  partial model PartialAbsoluteSensor "Measures at a flange"
    Flange_a flange;
  equation
    0 = flange.tau;
  end PartialAbsoluteSensor;

  partial model PartialRelativeSensor "Measures between two flanges"
    extends PartialTwoFlanges;
  equation
    0 = flange_a.tau + flange_b.tau;
  end PartialRelativeSensor;
end Interfaces;
