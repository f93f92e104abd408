// a type with attributes, and a type of a type
type Voltage = Real(unit = "V", start = 2.0);
type Peak = Voltage(max = 20.0);
model TypeAlias
  Peak v(fixed = true);
equation
  der(v) = 1.0 - v;
end TypeAlias;
