within Modelica.Electrical.Analog;
package Ideal "Diodes and switches as two straight lines, and the ideal amplifier"
  import Modelica.Electrical.Analog.Interfaces;
  import Modelica.Units.SI;

  model IdealDiode "Conducts where s >= 0: s is current scaled there, voltage elsewhere"
    extends Interfaces.OnePort;
    parameter SI.Resistance Ron(final min=0) = 1e-5 "Of the conducting diode";
    parameter SI.Conductance Goff(final min=0) = 1e-5 "Of the blocking diode";
    parameter SI.Voltage Vknee(final min=0) = 0 "Where it begins to conduct";
    extends Interfaces.ConditionalHeatPort;
    Boolean off(start=true);
  protected
    Real s(start=0, final unit="1") "Along the two lines";
    constant SI.Voltage unitVoltage = 1 annotation (HideResult=true);
    constant SI.Current unitCurrent = 1 annotation (HideResult=true);
  equation
    off = s < 0;
    v = s*unitCurrent*(if off then 1 else Ron) + Vknee;
    i = s*unitVoltage*(if off then Goff else 1) + Goff*Vknee;
    LossPower = v*i;
  end IdealDiode;

  partial model Switch "A switch, open where off"
    extends Interfaces.OnePort;
    parameter SI.Resistance Ron(final min=0) = 1e-5 "Of the closed switch";
    parameter SI.Conductance Goff(final min=0) = 1e-5 "Of the open switch";
    extends Interfaces.ConditionalHeatPort;
  protected
    Boolean off;
    Real s(final unit="1") "Along the two lines";
    constant SI.Voltage unitVoltage = 1 annotation (HideResult=true);
    constant SI.Current unitCurrent = 1 annotation (HideResult=true);
  equation
    v = s*unitCurrent*(if off then 1 else Ron);
    i = s*unitVoltage*(if off then Goff else 1);
    LossPower = v*i;
  end Switch;

  model IdealOpeningSwitch "Open where control holds"
    extends Switch;
    Modelica.Blocks.Interfaces.BooleanInput control;
  equation
    off = control;
  end IdealOpeningSwitch;

  model IdealClosingSwitch "Closed where control holds"
    extends Switch;
    Modelica.Blocks.Interfaces.BooleanInput control;
  equation
    off = not control;
  end IdealClosingSwitch;

  model IdealOpAmp3Pin "Amplifier without limits: no voltage and no current at its inputs"
    Interfaces.PositivePin in_p;
    Interfaces.NegativePin in_n;
    Interfaces.PositivePin out;
  equation
    in_p.v = in_n.v;
    in_p.i = 0;
    in_n.i = 0;
  end IdealOpAmp3Pin;
end Ideal;
