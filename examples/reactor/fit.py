"""Implicit reactor of Pyomo's parmest; give the path of its `reactor_data.csv`."""

import sys
from pathlib import Path

import estimica as es

here = Path(__file__).parent


def study(data: Path) -> es.Study:
    """Nineteen points, four concentrations, each with the same weight."""
    outputs = {n: es.OutputColumn(n, weight=1) for n in ("ca", "cb", "cc", "cd")}
    case = es.Case("plant", data, inputs={"sv": "sv", "caf": "caf"}, outputs=outputs)
    tuners = [
        es.Tuner("k1", start=5 / 6, min=0),
        es.Tuner("k2", start=5 / 3, min=0),
        es.Tuner("k3", start=1 / 6000, min=0),
    ]
    return es.Study(es.load_model(here / "Reactor.mo").at_points(), tuners, [case])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python fit.py path/to/reactor_data.csv")
    print(es.fit(study(Path(sys.argv[1]))))
