// inputs and outputs of the model
model InputOutput
  input Real u;
  output Real y;
  parameter Real K = 3.0;
  Real x(start = 0.0, fixed = true);
equation
  der(x) = u - x;
  y = K * x;
end InputOutput;
