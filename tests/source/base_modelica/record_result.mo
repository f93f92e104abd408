// a function whose result is a record, and one that takes it
record State
  Real p;
  Real T;
end State;
function setState
  input Real p;
  input Real T;
  output State s;
algorithm
  s.p := p;
  s.T := T + 273.15;
end setState;
function density
  input State s;
  output Real d;
algorithm
  d := s.p / (287.0 * s.T);
end density;
model RecordResult
  Real d;
equation
  d = density(setState(1e5, 20.0 + time));
end RecordResult;
