// transpose, identity, cross, sum, product, max, fill
model ArrayFunctions
  Real u[3] = {time, 1.0, 2.0};
  Real c[3] = cross(u, {0.0, 1.0, time});
  Real n = sum(u) + product(u) + max(u) + min(u);
  Real q = u * (identity(3) + fill(0.5, 3, 3)) * u;
  Real t[2, 3] = transpose([1, 2; 3, 4; 5, 6]) * time;
end ArrayFunctions;
