// a table of two variables of the standard library
model TableOfTwo "As the CombiTable2D of the standard library, with linear segments"
  Real u = 2 * time;
  Real v = 1.5 - time;
  Real y = (if u < 1.0 then 1 + u * (2 + v) else 3 + v + (u - 1) * (1 + 3 * v)) + 0.0;
end TableOfTwo;
