within Modelica.Mechanics.Translational;
package Interfaces "Flanges and what components have in common"
  import Modelica.Units.SI;

  connector Flange "The position, and the force on the component"
    SI.Position s;
    flow SI.Force f;
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

  model InternalSupport "A housing on which a given force acts"
    input SI.Force f;
    SI.Position s;
    Flange_a flange;
  equation
    flange.f = f;
    flange.s = s;
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

  partial model PartialCompliant "A force between two flanges"
    extends PartialTwoFlanges;
    SI.Position s_rel(start=0);
    SI.Force f "On flange_b";
  equation
    s_rel = flange_b.s - flange_a.s;
    flange_b.f = f;
    flange_a.f = -f;
  end PartialCompliant;

  partial model PartialRigid "Something stiff of a length"
    SI.Position s "Of its middle";
    parameter SI.Length L(start=0) "Length";
    extends PartialTwoFlanges;
  equation
    flange_a.s = s - L/2;
    flange_b.s = s + L/2;
  end PartialRigid;

  partial model PartialCompliantWithRelativeStates "A force between two flanges; their distance may be a state"
    parameter StateSelect stateSelect = StateSelect.prefer "Of s_rel and v_rel";
    parameter SI.Distance s_nominal = 1e-4 "Size of s_rel";
    SI.Position s_rel(start=0, stateSelect=stateSelect, nominal=s_nominal);
    SI.Velocity v_rel(start=0, stateSelect=stateSelect);
    SI.Force f "On flange_b";
    extends PartialTwoFlanges;
  equation
    s_rel = flange_b.s - flange_a.s;
    v_rel = der(s_rel);
    flange_b.f = f;
    flange_a.f = -f;
  end PartialCompliantWithRelativeStates;

  partial model PartialElementaryOneFlangeAndSupport2 "The housing may be a flange, or stands still at 0"
    parameter Boolean useSupport = false annotation (Evaluate=true);
    SI.Length s "Of the flange against the housing";
    Flange_b flange;
    Support support(s=s_support, f=-flange.f) if useSupport;
  protected
    SI.Length s_support;
  equation
    s = flange.s - s_support;
    if not useSupport then
      s_support = 0;
    end if;
  end PartialElementaryOneFlangeAndSupport2;

  partial model PartialForce "A force between flange and housing"
    extends PartialElementaryOneFlangeAndSupport2;
    SI.Force f "On the component";
  equation
    f = flange.f;
  end PartialForce;

  partial model PartialAbsoluteSensor "Measures at a flange"
    Flange_a flange;
  equation
    0 = flange.f;
  end PartialAbsoluteSensor;

  partial model PartialRelativeSensor "Measures between two flanges"
    extends PartialTwoFlanges;
  equation
    0 = flange_a.f + flange_b.f;
  end PartialRelativeSensor;
end Interfaces;
