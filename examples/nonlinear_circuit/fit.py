"""Nonlinear circuit: four parameters from the current after a step of ten volts."""

from pathlib import Path

import estimica as es

here = Path(__file__).parent
model = es.load_model(here.parent / "NonlinearCircuit.mo", "NonlinearCircuit.Circuit")
study = es.Study(
    model,
    tuners=[es.Tuner(name, start=2) for name in ("R1", "R2", "C", "L")],
    cases=[es.Case("step", here / "step.csv", inputs={"u": 10}, outputs={"i": "current"})],
    criterion="oe",
)
fit = es.fit(study)
print(fit)
for iteration in fit.iterations:
    print(iteration.number, f"cost {iteration.cost:.3g}", iteration.values.round(6))
