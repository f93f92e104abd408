within Modelica;
package Blocks "Blocks with inputs and outputs"
end Blocks;
