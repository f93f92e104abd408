within Modelica.Mechanics;
package Translational "Movement along a line"
end Translational;
