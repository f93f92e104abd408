"""Dead-zone circuit: the same estimates with located edges and with edges that are passed over."""

from pathlib import Path

import estimica as es

here = Path(__file__).parent
starts = {"R": 0.7, "d": 0.35, "C": 1.1, "L": 1.1}
for name in ("WithEvents", "WithoutEvents"):
    model = es.load_model(here.parent / "DeadZoneCircuit.mo", f"DeadZoneCircuit.{name}")
    study = es.Study(
        model,
        tuners=[es.Tuner(n, start=s, min=0, max=10) for n, s in starts.items()],
        cases=[es.Case("step", here / "step.csv", inputs={"u": 5}, outputs={"i": "current"})],
    )
    fit = es.fit(study)
    print(f"{name}: {len(fit.iterations) - 1} iterations")
    print(fit)
