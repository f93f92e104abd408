within Modelica;
package Thermal
end Thermal;
