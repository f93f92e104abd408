within Modelica.Thermal.HeatTransfer;
package Sensors "Ideal instruments"
  import Modelica.Thermal.HeatTransfer.Interfaces;

  model TemperatureSensor
    Modelica.Blocks.Interfaces.RealOutput T(unit="K");
    Interfaces.HeatPort_a port;
  equation
    T = port.T;
    port.Q_flow = 0;
  end TemperatureSensor;

  model RelTemperatureSensor
    Interfaces.HeatPort_a port_a;
    Interfaces.HeatPort_b port_b;
    Modelica.Blocks.Interfaces.RealOutput T_rel(unit="K", displayUnit="K");
  equation
    T_rel = port_a.T - port_b.T;
    port_a.Q_flow = 0;
    port_b.Q_flow = 0;
  end RelTemperatureSensor;

  model HeatFlowSensor
    Modelica.Blocks.Interfaces.RealOutput Q_flow(unit="W");
    Interfaces.HeatPort_a port_a;
    Interfaces.HeatPort_b port_b;
  equation
    port_a.T = port_b.T;
    port_a.Q_flow + port_b.Q_flow = 0;
    Q_flow = port_a.Q_flow;
  end HeatFlowSensor;
end Sensors;
