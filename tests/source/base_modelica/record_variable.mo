// a record set by its constructor
record Point
  Real x;
  Real y;
end Point;
model RecordVariable
  Point p;
equation
  p = Point(sin(time), y = cos(time));
end RecordVariable;
