// operators on every element
model Elementwise
  Real a[2] = {1.0 + time, 2.0};
  Real b[2] = {3.0, 4.0 + time};
  Real c[2] = a .* b ./ (a .+ 1.0) .- b .^ 2;
  Real d[2] = -a * 2 + b / 4;
end Elementwise;
