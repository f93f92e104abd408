// a diffusion line, its size a parameter
model ForEquation
  parameter Integer n = 6;
  parameter Real d = 4.0;
  Real T[n](each start = 20.0, each fixed = true);
equation
  der(T[1]) = d * (100.0 - 2 * T[1] + T[2]);
  for i in 2:n - 1 loop
    der(T[i]) = d * (T[i - 1] - 2 * T[i] + T[i + 1]);
  end for;
  der(T[n]) = d * (T[n - 1] - T[n]);
end ForEquation;
