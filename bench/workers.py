"""Work in one process and in several, side by side: short and long, workers started each time.

python bench/workers.py [WORKERS]: bootstraps whose fits run one after the other (a compiled model
with the scalar backend, a Python function). Every round does each way once, in turn; what is shown
is the best time by the clock, so the machine must have nothing else to do.
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
#: study and replicates: about half a second and some ten seconds of one processor
WORK = {
    "boiler": ("drum_boiler/drum_boiler.toml", (40, 1000)),
    "Python function": ("varying_gain/varying_gain.toml", (40, 1000)),
}


def timed(ways: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The best time of each way."""
    best = dict.fromkeys(ways, np.inf)
    for _ in range(ROUNDS):
        for name, way in ways.items():
            begun = perf_counter()
            way()
            best[name] = min(best[name], perf_counter() - begun)
    return best


def compared(title: str, path: str, replicates: int, workers: int) -> None:
    """A bootstrap alone, as it is by default, and by workers from the first replicate on."""
    study = es.read_study(EXAMPLES / path)
    fit = es.fit(study.with_(execute=es.Execution(backend="scalar")))

    def way(count: int | None) -> Callable[[], es.BootstrapResult]:
        return lambda: es.bootstrap(fit, replicates, workers=count)

    alone, several = way(1)().values, way(workers)().values
    best = timed({"1 worker": way(1), "default": way(None), f"{workers} workers": way(workers)})
    first = best["1 worker"]
    print(f"{title}: {replicates} replicates; to the bit: {np.array_equal(alone, several)}")
    for name, seconds in best.items():
        print(f"  {name:12s} {seconds:8.3f} s   {first / seconds:6.2f}×")


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    for title, (path, sizes) in WORK.items():
        for size in sizes:
            compared(title, path, size, count)
