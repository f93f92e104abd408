model rcThermal "A heated room with a wall: two capacities, two resistances"
  model Air
    parameter Real C(unit = "J/K", min = 1) = 4e5 "Heat capacity of the air and what stands in it";
    Real T(unit = "K", start = 293.15, fixed = true, nominal = 300) "Temperature of the air";
  end Air;

  model Wall
    parameter Real C(unit = "J/K", min = 1) = 8e6 "Heat capacity of the wall";
    parameter Real R(unit = "K/W", min = 1e-6) = 4e-3 "Resistance from the air to the wall";
    parameter Real R_out(unit = "K/W", min = 1e-6) = 1e-2 "Resistance to the outside";
    Real T(unit = "K", start = 288.15, fixed = true, nominal = 300) "Temperature of the wall";
  end Wall;

  model Window
    parameter Real A(unit = "m2", min = 0) = 2 "Area of a window that lets the sun in";
    parameter Integer n(min = 0, max = 10) = 2 "Number of windows";
    parameter Boolean shaded = false "Whether the blinds are down";
  end Window;

  model Heater
    parameter Real gain(unit = "1", min = 0, max = 2) = 1 "Share of the power that warms the air";
  end Heater;

  Air air;
  Wall wall;
  Window window;
  Heater heater;
  input Real T_out(unit = "K", start = 278.15) "Temperature outside";
  input Real P_heat(unit = "W") "Power of the heater";
  input Real sun(unit = "W/m2") "Radiation on the window";
  output Real T_room(unit = "K") "Temperature that the thermometer shows";
  output Real T_wall(unit = "K") "Temperature of the wall";
  output Real Q_wall(unit = "W") "Heat from the air into the wall";
equation
  air.C*der(air.T) = heater.gain*P_heat
    + (if window.shaded then 0 else window.A*window.n*sun) - Q_wall;
  wall.C*der(wall.T) = Q_wall - (wall.T - T_out)/wall.R_out;
  Q_wall = (air.T - wall.T)/wall.R;
  T_room = air.T;
  T_wall = wall.T;
end rcThermal;
