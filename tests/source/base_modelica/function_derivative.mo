// the partial derivative of a function
function wave
  input Real x;
  input Real a;
  output Real y;
algorithm
  y := x ^ 2 * sin(a * x);
end wave;
function wave_x = der(wave, x);
model FunctionDerivative
  Real y = wave_x(1.0 + time, 2.0);
end FunctionDerivative;
