model HeatRod "Rod of 100 cells in 20 stretches of unknown conductivity, held at zero on the right"
  constant Integer stretches = 20 "Number of stretches with a conductivity of their own";
  constant Integer per = 5 "Number of cells in a stretch";
  constant Integer n = stretches*per "Number of cells";
  parameter Real k[stretches](each unit = "1/s", each min = 0.05, each max = 10) =
    {1.0, 0.9, 1.1, 1.2, 0.8, 0.7, 1.3, 1.4, 0.6, 1.0, 1.1, 0.9, 0.8, 1.2, 1.0, 1.3, 0.7, 0.9, 1.1, 1.0}
    "Conductivity of each stretch, over its heat capacity, for a rod of length one";
  input Real u(unit = "K") "Temperature of the left end, above that of the right end";
  output Real y[10](each unit = "K") "Temperatures along the rod";
  Real T[n](each unit = "K", each start = 0, each fixed = true) "Temperatures of the cells";
  Real q[n + 1] "Heat flow into each cell from the left, and out of the last";
protected
  constant Real dx = 1/n "Length of a cell";
  parameter Real kc[n] = {k[div(i - 1, per) + 1] for i in 1:n} "Conductivity of each cell";
equation
  q[1] = 2*kc[1]*(u - T[1])/dx;
  for i in 2:n loop
    q[i] = 2/(1/kc[i - 1] + 1/kc[i])*(T[i - 1] - T[i])/dx;
  end for;
  q[n + 1] = 2*kc[n]*T[n]/dx;
  for i in 1:n loop
    der(T[i]) = (q[i] - q[i + 1])/dx;
  end for;
  for j in 1:10 loop
    y[j] = T[10*j - 5];
  end for;
  annotation(experiment(StopTime = 4));
end HeatRod;
