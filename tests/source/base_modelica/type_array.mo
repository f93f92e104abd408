// a type that is an array
model TypeArray
  type Vector = Real[3](each unit = "m");
  Vector r(start = {1.0, 2.0, 3.0}, each fixed = true);
equation
  der(r) = -r;
end TypeArray;
