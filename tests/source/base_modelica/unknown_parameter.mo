// a parameter that the start determines
model UnknownParameter
  parameter Real p(fixed = false, start = 1.0);
  Real x;
initial equation
  x = 1.0;
  der(x) = -3.0;
equation
  der(x) = -p * x;
end UnknownParameter;
