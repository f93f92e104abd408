within Modelica.Thermal.HeatTransfer;
package Components "Heat that is kept, conducted, taken along and radiated"
  import Modelica.Thermal.HeatTransfer.Interfaces;
  import Modelica.Units.SI;

  model HeatCapacitor
    parameter SI.HeatCapacity C;
    SI.Temperature T(start=293.15, displayUnit="degC");
    SI.TemperatureSlope der_T(start=0);
    Interfaces.HeatPort_a port;
  equation
    T = port.T;
    der_T = der(T);
    C*der(T) = port.Q_flow;
  end HeatCapacitor;

  model ThermalConductor
    extends Interfaces.Element1D;
    parameter SI.ThermalConductance G;
  equation
    Q_flow = G*dT;
  end ThermalConductor;

  model ThermalResistor
    extends Interfaces.Element1D;
    parameter SI.ThermalResistance R;
  equation
    dT = R*Q_flow;
  end ThermalResistor;

  model Convection
    SI.HeatFlowRate Q_flow "From solid to fluid";
    SI.TemperatureDifference dT "solid.T - fluid.T";
    Modelica.Blocks.Interfaces.RealInput Gc(unit="W/K") "Coefficient of heat transfer times area";
    Interfaces.HeatPort_a solid;
    Interfaces.HeatPort_b fluid;
  equation
    dT = solid.T - fluid.T;
    solid.Q_flow = Q_flow;
    fluid.Q_flow = -Q_flow;
    Q_flow = Gc*dT;
  end Convection;

  model ConvectiveResistor
    SI.HeatFlowRate Q_flow "From solid to fluid";
    SI.TemperatureDifference dT "solid.T - fluid.T";
    Modelica.Blocks.Interfaces.RealInput Rc(unit="K/W");
    Interfaces.HeatPort_a solid;
    Interfaces.HeatPort_b fluid;
  equation
    dT = solid.T - fluid.T;
    solid.Q_flow = Q_flow;
    fluid.Q_flow = -Q_flow;
    dT = Rc*Q_flow;
  end ConvectiveResistor;

  model BodyRadiation "Between two bodies, after Stefan and Boltzmann"
    extends Interfaces.Element1D;
    parameter Real Gr(unit="m2") "Area, times what of its radiation arrives";
  equation
    Q_flow = Gr*Modelica.Constants.sigma*(port_a.T^4 - port_b.T^4);
  end BodyRadiation;

  model ThermalCollector "Several ports as one"
    parameter Integer m(min=1) = 3;
    Interfaces.HeatPort_a port_a[m];
    Interfaces.HeatPort_b port_b;
  equation
    port_b.Q_flow + sum(port_a.Q_flow) = 0;
    port_a.T = fill(port_b.T, m);
  end ThermalCollector;
end Components;
