// a loop that is left
function firstAbove
  input Real x[:];
  input Real limit;
  output Real y = 0.0;
algorithm
  for v in x loop
    if v > limit then
      y := v;
      break;
    end if;
  end for;
end firstAbove;
model FunctionBreak
  Real y = firstAbove({0.1, 0.4, 0.9, 2.0}, 0.5) * time;
end FunctionBreak;
