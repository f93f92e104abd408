"""Drum boiler: disturbances and start values as parameters of the model, or as part of the case."""

from pathlib import Path

import estimica as es

here = Path(__file__).parent
tuners = [
    es.Tuner("T_D", start=250, min=10, max=500),
    es.Tuner("T_R", start=30, min=1, max=100),
    es.Tuner("A4", start=0.5, min=0, max=1),
]
case = es.Case(
    "run 1",
    here / "run1.csv",
    inputs={"uc": "valve", "fc": "fuel"},
    outputs={
        "E": es.OutputColumn("power", disturbance=True),
        "P": es.OutputColumn("pressure", disturbance=True),
    },
    free_start=["P", "x2"],
)
study = es.Study(es.load_model(here / "Boiler.mo"), tuners, [case], criterion="ml")
fit = es.fit(study)
print(fit)
print({name: round(noise.variance, 3) for name, noise in fit.noise.items()})

whole = es.fit(es.read_study(here / "drum_boiler.toml"))
print(whole.parameters[["value", "stderr"]])
