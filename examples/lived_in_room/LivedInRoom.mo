package LivedInRoom "A room behind heavy walls, with and without the sun on them"
  model Room "Air and walls, heated, in contact with the outside"
    parameter Real Ci(unit = "J/K") = 1e6 "Heat capacity of air and furniture";
    parameter Real Cw(unit = "J/K") = 1e7 "Heat capacity of the walls";
    parameter Real Ri(unit = "K/W") = 4e-3 "Thermal resistance between air and walls";
    parameter Real Ro(unit = "K/W") = 4e-3 "Thermal resistance between walls and outside";
    input Real Ta(unit = "degC") "Outdoor temperature";
    input Real P(unit = "W") "Power of the heater";
    Real Ti(start = 20, unit = "degC") "Temperature of the air";
    Real Tw(start = 15, unit = "degC") "Temperature of the walls";
  equation
    Ci*der(Ti) = (Tw - Ti)/Ri + P;
    Cw*der(Tw) = (Ti - Tw)/Ri + (Ta - Tw)/Ro;
  end Room;

  model SunnyRoom "The same with the sun on its walls"
    parameter Real Ci(unit = "J/K") = 1e6 "Heat capacity of air and furniture";
    parameter Real Cw(unit = "J/K") = 1e7 "Heat capacity of the walls";
    parameter Real Ri(unit = "K/W") = 4e-3 "Thermal resistance between air and walls";
    parameter Real Ro(unit = "K/W") = 4e-3 "Thermal resistance between walls and outside";
    parameter Real A(unit = "m2") = 1 "Area that the sun seems to shine on";
    input Real Ta(unit = "degC") "Outdoor temperature";
    input Real P(unit = "W") "Power of the heater";
    input Real sun(unit = "W/m2") "Radiation of the sun";
    Real Ti(start = 20, unit = "degC") "Temperature of the air";
    Real Tw(start = 15, unit = "degC") "Temperature of the walls";
  equation
    Ci*der(Ti) = (Tw - Ti)/Ri + P;
    Cw*der(Tw) = (Ti - Tw)/Ri + (Ta - Tw)/Ro + A*sun;
  end SunnyRoom;
end LivedInRoom;
