// arrays and sums made by loops in expressions
model Comprehension
  parameter Integer n = 4;
  Real y[n] = {i * time for i in 1:n};
  Real s = sum(i * i for i in 1:n) + sum(y[i] * j for i in 1:n, j in 1:2);
  Real p = product(1.0 + y[i] for i in 1:2);
end Comprehension;
