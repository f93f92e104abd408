"""Fits R0 + R1||C1 to the file of an impedance analyser: python fit.py FILE [R0 R1 C1]

For instance Circuit1_EIS_1.z of the package impedance.py (github.com/ECSHackWeek/impedance.py, MIT
licence), from 100, 400, 1e-5. Without a file it fits spectrum.csv with the model of cell.toml.
"""

import sys
from pathlib import Path

import estimica as es


def circuit(file: str, starts: list[float]) -> es.Study:
    """A resistance in series with a resistance and a capacitance side by side."""
    model = es.transfer_function("R0 + R1/(1 + R1*C1*s)", input="i", output="v")
    case = es.Case("spectrum", es.read_data(file), frequency="frequency", outputs={"v": "Z"})
    tuners = [es.Tuner(n, start=s, min=0) for n, s in zip(("R0", "R1", "C1"), starts, strict=True)]
    return es.Study(model, tuners, [case])


if __name__ == "__main__":
    file, *given = sys.argv[1:] or [""]
    if file:
        study = circuit(file, [float(x) for x in given] or [100, 400, 1e-5])
    else:
        study = es.read_study(Path(__file__).with_name("cell.toml"))
    fit = es.fit(study)
    print(fit)
    print(fit.report("impedance.html"))
