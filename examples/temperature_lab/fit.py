"""Temperature lab, real data: heat transfer and heater powers by absolute and by relative errors.

Get the recording at https://github.com/APMonitor/arduino, file
2_Regression/Energy_balance_MIMO/Python_minimize/data.txt, then: python fit.py data.txt
"""

from __future__ import annotations

import sys
from pathlib import Path

import estimica as es

HERE = Path(__file__).parent
ABSOLUTE = "oe"
RELATIVE = "((simulated - measured)/measured)^2"


def fitted(source: Path, criterion: str) -> es.Fit:
    """The fit by one criterion; the heaters start at their first temperatures."""
    data = es.read_data(source)
    columns = {"T1": "Temperature 1", "T2": "Temperature 2"}
    case = es.Case(
        "lab",
        data,
        inputs={"Q1": "Heater 1", "Q2": "Heater 2"},
        outputs={name: es.OutputColumn(column, weight=1) for name, column in columns.items()},
        fix={name: float(data.column(column)[0]) for name, column in columns.items()},
    )
    tuners = [
        es.Tuner("U", start=10, min=2, max=20),
        es.Tuner("alpha1", start=0.01, min=0.005, max=0.02),
        es.Tuner("alpha2", start=0.0075, min=0.002, max=0.015),
    ]
    return es.fit(es.Study(es.load_model(HERE / "TemperatureLab.mo"), tuners, [case], criterion))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for criterion in (ABSOLUTE, RELATIVE):
        print(fitted(Path(sys.argv[1]), criterion))
