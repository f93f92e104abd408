// assertions in branches of an if-equation
model GuardedAssertion
  parameter Real limit = 2.0;
  Real x(start = 1.0, fixed = true);
equation
  der(x) = -x;
  if time > 0.5 then
    assert(x < 0.7, "x should have fallen by now");
  else
    assert(x < limit, "x is too large at the start", AssertionLevel.warning);
  end if;
end GuardedAssertion;
