model Drug "A drug that is taken up and eliminated"
  parameter Real k_up = 0.5 "Rate of uptake, 1/h";
  parameter Real k_out = 0.2 "Rate of elimination, 1/h";
  Real gut(start = 0, fixed = true) "Amount not yet taken up, mg";
  Real blood(start = 0, fixed = true) "Amount in the blood, mg";
equation
  der(gut) = -k_up*gut;
  der(blood) = k_up*gut - k_out*blood;
end Drug;
