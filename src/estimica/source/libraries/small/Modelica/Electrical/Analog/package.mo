within Modelica.Electrical;
package Analog "Circuits"
end Analog;
