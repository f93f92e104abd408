within Modelica.Mechanics.Translational;
package Components "Masses, springs and dampers"
  import Modelica.Mechanics.Translational.Interfaces;
  import Modelica.Units.SI;

  model Fixed "Stands still"
    parameter SI.Position s0 = 0;
    Interfaces.Flange_b flange;
  equation
    flange.s = s0;
  end Fixed;

  model Mass
    parameter SI.Mass m(min=0, start=1);
    parameter StateSelect stateSelect = StateSelect.default "Of s and v";
    extends Interfaces.PartialRigid(L=0, s(start=0, stateSelect=stateSelect));
    SI.Velocity v(start=0, stateSelect=stateSelect);
    SI.Acceleration a(start=0);
  equation
    v = der(s);
    a = der(v);
    m*a = flange_a.f + flange_b.f;
  end Mass;

  model Rod "Stiff, without mass"
    extends Interfaces.PartialRigid;
  equation
    0 = flange_a.f + flange_b.f;
  end Rod;

  model Spring
    extends Interfaces.PartialCompliant;
    parameter SI.TranslationalSpringConstant c(final min=0, start=1);
    parameter SI.Distance s_rel0 = 0 "Where it is relaxed";
  equation
    f = c*(s_rel - s_rel0);
  end Spring;

  model Damper
    extends Interfaces.PartialCompliantWithRelativeStates;
    parameter SI.TranslationalDampingConstant d(final min=0, start=0);
    extends Modelica.Thermal.HeatTransfer.Interfaces.PartialElementaryConditionalHeatPortWithoutT;
  equation
    f = d*v_rel;
    lossPower = f*v_rel;
  end Damper;

  model SpringDamper "Side by side"
    extends Interfaces.PartialCompliantWithRelativeStates;
    parameter SI.TranslationalSpringConstant c(final min=0, start=1);
    parameter SI.TranslationalDampingConstant d(final min=0, start=1);
    parameter SI.Position s_rel0 = 0 "Where the spring is relaxed";
    extends Modelica.Thermal.HeatTransfer.Interfaces.PartialElementaryConditionalHeatPortWithoutT;
  protected
    SI.Force f_c "Of the spring";
    SI.Force f_d "Of the damper";
  equation
    f_c = c*(s_rel - s_rel0);
    f_d = d*v_rel;
    f = f_c + f_d;
    lossPower = f_d*v_rel;
  end SpringDamper;

  model IdealGearR2T = Modelica.Mechanics.Rotational.Components.IdealGearR2T;
end Components;
