// comments, descriptions, annotations, decorations, an experiment
model Remarks "A model with remarks"
  // a comment
  Real x(start = 1.0, fixed = true) "A variable" annotation(Dialog(group = "Start"));
equation
  der(x) = -x "An equation";
  annotation(experiment(StartTime = 0, StopTime = 2.0, Tolerance = 1e-8, Interval = 0.01));
end Remarks;
