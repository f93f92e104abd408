within Modelica.Mechanics;
package Rotational "Movement about an axis"
end Rotational;
