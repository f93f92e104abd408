"""Many fits of one model: one search after the other, and together in vector units, side by side.

python bench/ensemble_fits.py [REPLICATES]: every round does each way once, in turn; what is shown
is the best of the rounds, and the ratio to the first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np

import estimica as es

EXAMPLES = Path(__file__).parent.parent / "examples"
ROUNDS = 3
STARTS = 64
STUDIES = {
    "boiler, 7 unknowns": "drum_boiler/drum_boiler.toml",
    "boiler with disturbances and free starts": "drum_boiler/boiler.toml",
}


def timed(ways: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The best time of each way, all of them compiled before."""
    for way in ways.values():
        way()
    best = dict.fromkeys(ways, np.inf)
    for _ in range(ROUNDS):
        for name, way in ways.items():
            begun = perf_counter()
            way()
            best[name] = min(best[name], perf_counter() - begun)
    return best


def shown(title: str, best: dict[str, float]) -> None:
    """A line for each way."""
    print(title)
    first = next(iter(best.values()))
    for name, seconds in best.items():
        print(f"  {name:32s} {seconds:8.3f} s   {first / seconds:6.2f}×")


def bootstraps(title: str, path: str, replicates: int) -> None:
    """A bootstrap three ways, and whether they say the same."""
    study = es.read_study(EXAMPLES / path)
    fit = es.fit(study)
    single = es.fit(study.with_(execute=es.Execution(backend="scalar")))
    shown(
        f"{title}: {replicates} replicates",
        timed(
            {
                "one search after the other": lambda: es.bootstrap(single, replicates),
                "vectors, 1 thread": lambda: es.bootstrap(fit, replicates),
                "vectors, 2 threads": lambda: es.bootstrap(fit, replicates, workers=2),
            }
        ),
    )
    old, one = es.bootstrap(single, replicates), es.bootstrap(fit, replicates)
    two = es.bootstrap(fit, replicates, workers=2)
    off = np.abs(one.values - old.values)
    print(f"  1 and 2 threads to the bit: {np.array_equal(one.values, two.values)}")
    print(f"  largest relative difference: {np.max(off / np.abs(old.values)):.1e}")
    print(f"  in standard errors: {np.max(off / old.values.std(axis=0)):.1e}")
    print(f"  {one.worked_by.words}")


def starts() -> None:
    """A fit from many starts."""
    study = es.read_study(EXAMPLES / "drum_boiler" / "drum_boiler.toml")
    single = study.with_(execute=es.Execution(backend="scalar"))
    shown(
        f"boiler: {STARTS} starts",
        timed(
            {
                "one search after the other": lambda: es.fit(single, starts=STARTS),
                "vectors, 1 thread": lambda: es.fit(study, starts=STARTS),
            }
        ),
    )


def profiles() -> None:
    """The profiles of all unknowns."""
    study = es.read_study(EXAMPLES / "drum_boiler" / "drum_boiler.toml")
    fit = es.fit(study)
    single = es.fit(study.with_(execute=es.Execution(backend="scalar")))
    shown(
        "boiler: seven profiles",
        timed(
            {
                "one search after the other": lambda: es.profile(single),
                "vectors, 1 thread": lambda: es.profile(fit),
            }
        ),
    )
    one, other = (es.profile(f).intervals[["low", "high"]].to_numpy(float) for f in (fit, single))
    print(f"  largest relative difference of an end: {np.max(np.abs(one / other - 1)):.1e}")


def main(replicates: int) -> None:
    """All of it."""
    for title, path in STUDIES.items():
        bootstraps(title, path, replicates)
    starts()
    profiles()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
