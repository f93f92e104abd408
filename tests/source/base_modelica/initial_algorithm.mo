// start values computed in order
model InitialAlgorithm
  parameter Real a = 2.0;
  Real x;
initial algorithm
  x := a;
  x := x * x + 1.0;
equation
  der(x) = -x;
end InitialAlgorithm;
