within Modelica;
package Mechanics
end Mechanics;
