within Modelica;
package Electrical
end Electrical;
