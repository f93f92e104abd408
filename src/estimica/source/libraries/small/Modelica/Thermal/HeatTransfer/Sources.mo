within Modelica.Thermal.HeatTransfer;
package Sources "Given temperatures and heats"
  import Modelica.Thermal.HeatTransfer.Interfaces;
  import Modelica.Units.SI;

  model FixedTemperature
    parameter SI.Temperature T;
    Interfaces.HeatPort_b port;
  equation
    port.T = T;
  end FixedTemperature;

  model PrescribedTemperature
    Interfaces.HeatPort_b port;
    Modelica.Blocks.Interfaces.RealInput T(unit="K");
  equation
    port.T = T;
  end PrescribedTemperature;

  model FixedHeatFlow
    parameter SI.HeatFlowRate Q_flow "At T_ref";
    parameter SI.Temperature T_ref = 293.15;
    parameter SI.LinearTemperatureCoefficient alpha = 0;
    Interfaces.HeatPort_b port;
  equation
    port.Q_flow = -Q_flow*(1 + alpha*(port.T - T_ref));
  end FixedHeatFlow;

  model PrescribedHeatFlow
    parameter SI.Temperature T_ref = 293.15;
    parameter SI.LinearTemperatureCoefficient alpha = 0;
    Modelica.Blocks.Interfaces.RealInput Q_flow(unit="W") "At T_ref";
    Interfaces.HeatPort_b port;
  equation
    port.Q_flow = -Q_flow*(1 + alpha*(port.T - T_ref));
  end PrescribedHeatFlow;
end Sources;
