// an if inside a when, and an array set there
model WhenBranch
  discrete Real y[2](each start = 0.0, each fixed = true);
equation
  when sample(0.2, 0.2) then
    if time < 0.5 then
      y[1] = pre(y[1]) + 1.0;
    else
      y[1] = pre(y[1]) - 2.0;
    end if;
    y[2] = 10 * time;
  end when;
end WhenBranch;
