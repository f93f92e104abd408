within Modelica.Thermal;
package HeatTransfer "Heat in solids"
end HeatTransfer;
