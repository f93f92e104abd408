// a text as a parameter
model StringParameter
  parameter String name = "valve \"A\"" "Its name";
  Real x(start = 1.0, fixed = true);
equation
  der(x) = if name == "valve B" then 0.0 else -x;
end StringParameter;
