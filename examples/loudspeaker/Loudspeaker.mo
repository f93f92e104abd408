package Loudspeaker "An electrodynamic loudspeaker"
  partial model Driver "What all have: a mass on a spring, moved by the current of a coil"
    parameter Real m(unit = "kg", min = 1e-4, max = 1) = 0.0125 "Moving mass";
    parameter Real r(unit = "N.s/m", min = 0, max = 100) = 5.2 "Viscous friction";
    parameter Real k(unit = "N/m", min = 1, max = 1e6) = 12e3 "Stiffness of the suspension";
    parameter Real Bl(unit = "N/A", min = 0.1, max = 100) = 10 "Force factor";
    input Real u(unit = "V") "Voltage";
    output Real x(unit = "m", start = 0, fixed = true) "Displacement of the coil";
    output Real v(unit = "m/s", start = 0, fixed = true) "Velocity of the coil";
    output Real i(unit = "A") "Current";
  protected
    Real force_factor(unit = "N/A") "At this displacement";
  equation
    der(x) = v;
    m*der(v) = force_factor*i - r*v - k*x;
  end Driver;

  model Linear "Constant resistance and force factor"
    extends Driver;
    parameter Real R(unit = "Ohm", min = 0.1, max = 100) = 5 "Resistance of the coil";
  equation
    force_factor = Bl;
    u = R*i + force_factor*v;
  end Linear;

  model Nonlinear "The force factor falls where the coil leaves the magnet"
    extends Driver;
    parameter Real R(unit = "Ohm", min = 0.1, max = 100) = 5 "Resistance of the coil";
    parameter Real c1(unit = "1/m2", min = 0, max = 1e8) = 1e6 "How fast it falls";
    parameter Real c2(unit = "m", min = -0.01, max = 0.01) = 2e-4 "Where it is largest, negative";
  equation
    force_factor = Bl*exp(-c1*(x + c2)^2);
    u = R*i + force_factor*v;
  end Nonlinear;

  model Warming "The coil warms up while it is measured"
    extends Driver;
    parameter Real R_cold(unit = "Ohm") = 5.0 "Resistance at the beginning";
    parameter Real R_hot(unit = "Ohm") = 8.2 "Resistance at the end";
    parameter Real duration(unit = "s") = 1 "Of the record";
    Real R(unit = "Ohm");
  equation
    R = R_cold + (R_hot - R_cold)*time/duration;
    force_factor = Bl;
    u = R*i + force_factor*v;
  end Warming;
end Loudspeaker;
