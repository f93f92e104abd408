within Modelica;
package SIunits "Names of version 3 of the standard library"
  extends Modelica.Units.SI;
  type AngularVelocity_rpm = Modelica.Units.NonSI.AngularVelocity_rpm;
  package Conversions
    extends Modelica.Units.Conversions;
    package NonSIunits = Modelica.Units.NonSI;
  end Conversions;
end SIunits;
