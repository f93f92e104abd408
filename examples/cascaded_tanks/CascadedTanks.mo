package CascadedTanks "Water is pumped into an upper tank, runs into a lower one and out of it"
  // M. Schoukens and J.-P. Noel, Three Benchmarks Addressing Open Challenges in Nonlinear System
  // Identification, IFAC World Congress, 2017. Levels are in volts of the level sensor.
  function outflow "The root of the level, smooth and odd, with a finite slope at the empty tank"
    input Real x "Level";
    input Real delta "Level below which the root is rounded off";
    output Real q;
  algorithm
    q := x/(x^2 + delta^2)^0.25;
  end outflow;

  partial model Tanks "What both models share"
    parameter Real k1(min = 1e-4, max = 1) = 0.05 "Outflow of the upper tank";
    parameter Real k2(min = 1e-4, max = 1) = 0.05 "What of it enters the lower tank";
    parameter Real k3(min = 1e-4, max = 1) = 0.05 "Outflow of the lower tank";
    parameter Real k4(min = 1e-4, max = 1) = 0.05 "Flow of the pump for each volt";
    parameter Real delta(unit = "V") = 0.01 "Level below which the root is rounded off";
    input Real u(unit = "V") "Voltage of the pump";
    output Real y(unit = "V") "Level of the lower tank, as measured";
    Real x1(unit = "V", start = 5, fixed = true) "Level of the upper tank";
    Real x2(unit = "V", start = 5, fixed = true) "Level of the lower tank";
    Real q1 = outflow(x1, delta);
    Real q2 = outflow(x2, delta);
  end Tanks;

  model Plain "Bernoulli's law alone"
    extends Tanks;
  equation
    der(x1) = k4*u - k1*q1;
    der(x2) = k2*q1 - k3*q2;
    y = x2;
  end Plain;

  model Overflow "Tanks that spill over their rims, and a level sensor with an offset"
    extends Tanks;
    parameter Real offset(unit = "V", min = -8, max = 5) = 0 "Offset of the sensor";
    parameter Real caught(min = 0, max = 2) = 0 "Share of the upper tank's spill that the lower one catches";
    parameter Real rim1(unit = "V") = 10 "Rim of the upper tank: it gives its level a scale";
    parameter Real rim2(unit = "V") = 10 "Rim of the lower tank, as the sensor shows it";
    parameter Real rate(unit = "1/s") = 1 "How fast a level above the rim runs off";
    Real spill1 = rate*max(x1 - rim1, 0);
    Real spill2 = rate*max(y - rim2, 0);
  equation
    der(x1) = k4*u - k1*q1 - spill1;
    der(x2) = k2*q1 - k3*q2 + caught*spill1 - spill2;
    y = x2 + offset;
  end Overflow;
end CascadedTanks;
