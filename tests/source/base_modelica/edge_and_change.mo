// edge and change of discrete variables
model EdgeAndChange
  Boolean b = time > 0.25;
  Integer k = integer(4 * time);
  Integer ups(start = 0, fixed = true);
  Integer changes(start = 0, fixed = true);
equation
  when edge(b) then
    ups = pre(ups) + 1;
  end when;
  when change(k) then
    changes = pre(changes) + 1;
  end when;
end EdgeAndChange;
