within Modelica.Thermal.HeatTransfer;
package Celsius "Components that take and give degrees Celsius"
  import Modelica.Thermal.HeatTransfer.Interfaces;
  import Modelica.Units.Conversions.{from_degC,to_degC};

  model ToKelvin
    Modelica.Blocks.Interfaces.RealInput Celsius(unit="degC");
    Modelica.Blocks.Interfaces.RealOutput Kelvin(unit="K");
  equation
    Kelvin = from_degC(Celsius);
  end ToKelvin;

  model FromKelvin
    Modelica.Blocks.Interfaces.RealInput Kelvin(unit="K");
    Modelica.Blocks.Interfaces.RealOutput Celsius(unit="degC");
  equation
    Celsius = to_degC(Kelvin);
  end FromKelvin;

  model FixedTemperature
    parameter Modelica.Units.NonSI.Temperature_degC T;
    Interfaces.HeatPort_b port;
  equation
    port.T = from_degC(T);
  end FixedTemperature;

  model PrescribedTemperature
    Interfaces.HeatPort_b port;
    Modelica.Blocks.Interfaces.RealInput T(unit="degC");
  equation
    port.T = from_degC(T);
  end PrescribedTemperature;

  model TemperatureSensor
    Modelica.Blocks.Interfaces.RealOutput T(unit="degC");
    Interfaces.HeatPort_a port;
  equation
    T = to_degC(port.T);
    port.Q_flow = 0;
  end TemperatureSensor;
end Celsius;
