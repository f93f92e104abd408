within Modelica.Thermal.HeatTransfer;
package Interfaces "Ports and what components have in common"
  import Modelica.Units.SI;

  partial connector HeatPort "Temperature, and the heat into the component"
    SI.Temperature T;
    flow SI.HeatFlowRate Q_flow;
  end HeatPort;

  connector HeatPort_a
    extends HeatPort;
  end HeatPort_a;

  connector HeatPort_b
    extends HeatPort;
  end HeatPort_b;

  partial model Element1D "Heat flows through it and is not kept"
    SI.HeatFlowRate Q_flow "From port_a to port_b";
    SI.TemperatureDifference dT "port_a.T - port_b.T";
    HeatPort_a port_a;
    HeatPort_b port_b;
  equation
    dT = port_a.T - port_b.T;
    port_a.Q_flow = Q_flow;
    port_b.Q_flow = -Q_flow;
  end Element1D;

  partial model PartialElementaryConditionalHeatPort "Losses may heat something"
    parameter Boolean useHeatPort = false annotation (Evaluate=true);
    parameter SI.Temperature T = 293.15 "Where no heat port says it";
    HeatPort_a heatPort(final T=TheatPort, final Q_flow=-lossPower) if useHeatPort;
  protected
    SI.Power lossPower "Heat that leaves through the port";
    SI.Temperature TheatPort;
  equation
    if not useHeatPort then
      TheatPort = T;
    end if;
  end PartialElementaryConditionalHeatPort;

  partial model PartialElementaryConditionalHeatPortWithoutT "Losses may heat something; its temperature does not matter"
    parameter Boolean useHeatPort = false annotation (Evaluate=true);
    HeatPort_a heatPort(final Q_flow=-lossPower) if useHeatPort;
  protected
    SI.Power lossPower "Heat that leaves through the port";
  end PartialElementaryConditionalHeatPortWithoutT;
end Interfaces;
