// functions of the C library
function cosine
  input Real x;
  output Real y;
  external "C" y = cos(x) annotation(Library = "m");
end cosine;
function larger
  input Real a;
  input Real b;
  output Real c;
  external "C" c = fmax(a, b);
end larger;
model FunctionExternal
  Real y = cosine(time) + larger(time, 0.5);
end FunctionExternal;
