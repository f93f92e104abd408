// the functions of the language
model Mathematics
  Real u = 0.3 + 0.4 * time;
  Real a = sin(u) + cos(u) + tan(u) + asin(u) + acos(u) + atan(u) + atan2(u, 2.0);
  Real b = sinh(u) + cosh(u) + tanh(u) + exp(u) + log(u) + log10(u) + sqrt(u);
  Real c = abs(u - 0.5) + sign(u) + min(u, 0.5) + max(u, 0.5) + u ^ 1.5;
end Mathematics;
