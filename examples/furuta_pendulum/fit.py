"""Furuta pendulum: inertias and friction from one experiment, tried on another."""

from math import pi
from pathlib import Path

import estimica as es

here = Path(__file__).parent
degrees = pi / 180
outputs = {
    "phi": es.OutputColumn("arm", scale=degrees, weight=1),
    "theta": es.OutputColumn("pendulum", unwrap=360, scale=degrees, weight=1),
}
cases = [
    es.Case(
        name,
        here / file,
        inputs={"tau": 0},
        outputs=outputs,
        free_start={"phi": 0, "theta": theta, "w_phi": 0, "w_theta": 0},
        role=role,
    )
    for name, file, theta, role in (
        ("horizontal", "horizontal.csv", 1.57, "calibrate"),
        ("more upright", "upright.csv", 0.6, "validate"),
    )
]
starts = {"J": 0.006, "Jp": 0.004, "d_phi": 0.001, "d_theta": 0.001}
tuners = [es.Tuner(name, start=start, min=0, max=1) for name, start in starts.items()]
fit = es.fit(es.Study(es.load_model(here.parent / "FurutaPendulum.mo"), tuners, cases))
print(fit)

# With the arm's mass and inertia instead of J, the data determine only a combination of the two.
arm = es.fit(es.read_study(here / "arm.toml"))
print(*arm.identifiability.advice)
