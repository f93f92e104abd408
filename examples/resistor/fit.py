"""Warm resistor: a component alone, with errors in the current that drives it."""

from pathlib import Path

import estimica as es

here = Path(__file__).parent
model = es.load_model(here / "Resistor.mo", "Resistor.Warm", inputs=["i", "n.v"]).at_points()
tuners = [
    es.Tuner("R0", start=8, min=0.1),
    es.Tuner("alpha", start=0.005, min=0, max=0.04),
]


def study(current: str | es.InputColumn) -> es.Study:
    """The study with the current taken as exact, or with errors."""
    case = es.Case(
        "bench",
        here / "points.csv",
        inputs={"i": current, "n.v": 0.0},
        outputs={"v": es.OutputColumn("voltage", sigma=0.2)},
    )
    return es.Study(model, tuners, [case])


plain = es.fit(study("current"))
total = es.fit(study(es.InputColumn("current", sigma=0.06)))
print(plain.parameters[["value", "stderr"]])
print(total.parameters[["value", "stderr"]])
print(es.bootstrap(total, 20))
