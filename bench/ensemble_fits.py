"""Many fits of one model: one search after the other, and together in vector units, side by side.

python bench/ensemble_fits.py [REPLICATES]: every round does each way once, in turn; what is shown
is the best of the rounds on the clock and in CPU time, and their ratios to the first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "interval_coverage"))

from bulk import laboratory, one_by_one, together

import estimica as es

EXAMPLES = Path(__file__).parent.parent / "examples"
ROUNDS = 3
STARTS = 64
FOLDS = 50
EXPERIMENTS = 200
STUDIES = {
    "boiler, 7 unknowns": "drum_boiler/drum_boiler.toml",
    "boiler with disturbances and free starts": "drum_boiler/boiler.toml",
}


Times = tuple[float, float]  # on the clock, and of all processors


def timed(ways: dict[str, Callable[[], object]]) -> dict[str, Times]:
    """The best times of each way, all of them compiled before."""
    for way in ways.values():
        way()
    best = dict.fromkeys(ways, (np.inf, np.inf))
    for _ in range(ROUNDS):
        for name, way in ways.items():
            begun = perf_counter(), process_time()
            way()
            spent = perf_counter() - begun[0], process_time() - begun[1]
            best[name] = min(best[name][0], spent[0]), min(best[name][1], spent[1])
    return best


def shown(title: str, best: dict[str, Times]) -> None:
    """A line for each way."""
    print(title)
    first = next(iter(best.values()))
    for name, (clock, cpu) in best.items():
        told = f"{clock:8.3f} s {first[0] / clock:6.2f}×   CPU {cpu:8.3f} s {first[1] / cpu:6.2f}×"
        print(f"  {name:32s} {told}")


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


def folds() -> None:
    """Cross-validations of many stretches of time."""
    for title, path in STUDIES.items():
        study = es.read_study(EXAMPLES / path)
        fit = es.fit(study)
        single = es.fit(study.with_(execute=es.Execution(backend="scalar")))
        shown(
            f"{title}: {FOLDS} folds",
            timed(
                {
                    "one search after the other": lambda f=single: es.crossvalidate(
                        f, FOLDS, by="time"
                    ),
                    "vectors, 1 thread": lambda f=fit: es.crossvalidate(f, FOLDS, by="time"),
                    "vectors, 2 threads": lambda f=fit: es.crossvalidate(
                        f, FOLDS, by="time", workers=2
                    ),
                }
            ),
        )
        one, old = (es.crossvalidate(f, FOLDS, by="time") for f in (fit, single))
        two = es.crossvalidate(fit, FOLDS, by="time", workers=2)
        print(f"  1 and 2 threads to the bit: {np.array_equal(one.values, two.values)}")
        print(f"  largest relative difference: {np.max(np.abs(one.values / old.values - 1)):.1e}")
        print(f"  {one.worked_by.words}")


def coverage() -> None:
    """Simulated experiments with their plain intervals."""
    here, seeds = laboratory("circuit", "balanced"), range(EXPERIMENTS)
    shown(
        f"circuit: {EXPERIMENTS} experiments with intervals",
        timed(
            {
                "one fit after the other": lambda: one_by_one(here, seeds),
                "vectors, 1 thread": lambda: together(here, seeds),
            }
        ),
    )
    old, one = one_by_one(here, seeds), together(here, seeds)
    error = (old.high - old.low) / 4  # about a standard error
    print(f"  in standard errors: {np.max(np.abs(one.values - old.values) / error):.1e}")
    truth = dict(here.plant.truth)
    print(f"  hold the truth alike: {np.array_equal(one.held(truth), old.held(truth))}")


def main(replicates: int) -> None:
    """All of it."""
    for title, path in STUDIES.items():
        bootstraps(title, path, replicates)
    starts()
    profiles()
    folds()
    coverage()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
