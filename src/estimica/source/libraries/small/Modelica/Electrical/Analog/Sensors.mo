within Modelica.Electrical.Analog;
package Sensors "Ideal instruments"
  import Modelica.Electrical.Analog.Interfaces;

  model PotentialSensor
    Interfaces.PositivePin p;
    Modelica.Blocks.Interfaces.RealOutput phi(unit="V");
  equation
    p.i = 0;
    phi = p.v;
  end PotentialSensor;

  model VoltageSensor
    Interfaces.PositivePin p;
    Interfaces.NegativePin n;
    Modelica.Blocks.Interfaces.RealOutput v(unit="V");
  equation
    p.i = 0;
    n.i = 0;
    v = p.v - n.v;
  end VoltageSensor;

  model CurrentSensor
    Interfaces.PositivePin p;
    Interfaces.NegativePin n;
    Modelica.Blocks.Interfaces.RealOutput i(unit="A");
  equation
    p.v = n.v;
    p.i = i;
    n.i = -i;
  end CurrentSensor;

  model PowerSensor "Current through pc and nc, voltage between pv and nv"
    Interfaces.PositivePin pc;
    Interfaces.NegativePin nc;
    Interfaces.PositivePin pv;
    Interfaces.NegativePin nv;
    Modelica.Blocks.Interfaces.RealOutput power(unit="W");
    VoltageSensor voltageSensor;
    CurrentSensor currentSensor;
    Modelica.Blocks.Math.Product product;
  equation
    connect(pv, voltageSensor.p);
    connect(nv, voltageSensor.n);
    connect(pc, currentSensor.p);
    connect(nc, currentSensor.n);
    connect(currentSensor.i, product.u2);
    connect(voltageSensor.v, product.u1);
    connect(product.y, power);
  end PowerSensor;
end Sensors;
