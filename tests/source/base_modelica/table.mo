// a table as an external object of the standard library
model Table "As the CombiTable1D of the standard library, with linear segments"
  Real u = 3 * time - 0.5;
  Real y = if u < 1.0 then 2 * u else if u < 2.0 then 2 + 3 * (u - 1) else 5 - (u - 2);
end Table;
