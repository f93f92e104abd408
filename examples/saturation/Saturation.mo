model Saturation "A first-order process behind an amplifier that saturates, in a loop"
  parameter Real e0(min = 0.01, max = 10) = 0.8 "Error at which the amplifier saturates";
  parameter Real v0(min = 0.01, max = 10) = 0.7 "Its largest output";
  parameter Real tau(unit = "s", min = 0.1, max = 100) = 3 "Time constant of the process";
  constant Real K = 5 "Gain of the process";
  input Real u "What the process should do";
  output Real y(start = 0, fixed = true) "What it does";
  output Real v "Output of the amplifier";
protected
  Real e "Error";
equation
  e = u - y;
  v = if e > e0 then v0 elseif e < -e0 then -v0 else v0/e0*e;
  tau*der(y) + y = K*v;
end Saturation;
