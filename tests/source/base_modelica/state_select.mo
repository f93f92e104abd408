// which variables are to be states
model StateSelection
  Real x(start = 1.0, fixed = true, stateSelect = StateSelect.prefer);
  Real y(stateSelect = StateSelect.never);
equation
  y = 2 * x;
  der(y) = -2 * x;
end StateSelection;
