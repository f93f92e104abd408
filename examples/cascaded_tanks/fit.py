"""Cascaded tanks, real data: a plain model, then one whose tanks spill over.

Get `dataBenchmark.csv` of the cascaded tanks at https://www.nonlinearbenchmark.org (M. Schoukens
and J.-P. Noel, 2017, free with citation), then: python fit.py dataBenchmark.csv
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import estimica as es

HERE = Path(__file__).parent
K = {"start": 0.05, "min": 1e-4, "max": 1}


def case(name: str, source: Path, kind: str, **more: object) -> es.Case:
    """One experiment of the file, `Est` or `Val`, a row every four seconds."""
    data = es.read_data(source)
    columns = {"t": 4.0 * np.arange(len(data)), "u": data.column(f"u{kind}")}
    free = es.StartValue(start=5, min=0, max=30)
    return es.Case(
        name,
        {**columns, "y": data.column(f"y{kind}")},
        inputs={"u": "u"},
        outputs={"y": es.OutputColumn("y", weight=1)},
        **{"free_start": {"x1": free, "x2": free}, **more},
    )


def plain(source: Path) -> es.Fit:
    """Bernoulli's law alone; the scale of the unmeasured upper level is set by k1 = k2."""
    model = es.load_model(HERE / "CascadedTanks.mo", "CascadedTanks.Plain")
    tuners = [es.Tuner("k", drives=["k1", "k2"], **K), es.Tuner("k3", **K), es.Tuner("k4", **K)]
    cases = [
        case("estimation", source, "Est"),
        case("validation", source, "Val", role="validate"),
    ]
    return es.fit(es.Study(model, tuners, cases))


def overflow(source: Path) -> es.Fit:
    """Rims and an offset; the validation starts where its first 50 samples say."""
    model = es.load_model(HERE / "CascadedTanks.mo", "CascadedTanks.Overflow")
    tuners = [es.Tuner(f"k{i}", **K) for i in (1, 2, 3, 4)]
    tuners.append(es.Tuner("offset", start=0, min=-8, max=5))
    tuners.append(es.Tuner("caught", start=0.1, min=0, max=2))
    first = case("first 50 samples", source, "Val", role="validate", to=4.0 * 49)
    study = es.Study(model, tuners, [case("estimation", source, "Est"), first])
    begun = es.fit(study).case("first 50 samples")
    starts = {u.name: float(v) for u, v in zip(begun.unknowns, begun.values, strict=True)}
    rest = case("validation", source, "Val", role="validate", free_start={}, fix=starts)
    return es.fit(study.with_(cases=[*study.cases, rest]))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for fit in (plain(Path(sys.argv[1])), overflow(Path(sys.argv[1]))):
        print(fit)
