// a start in steady state
model InitialEquation
  Real x;
  Real y;
initial equation
  der(x) = 0.0;
  y = 2.0;
equation
  der(x) = 3.0 - x + (if time > 0.2 then 1.0 else 0.0);
  der(y) = -y;
end InitialEquation;
