"""How often 95 % intervals hold the truth: six models, six situations, four methods.

    python bench/interval_coverage/run.py --experiments 400 --workers 2 --out figures.json
    python bench/interval_coverage/run.py --only circuit,unbalanced,profile
    python bench/interval_coverage/run.py --page docs/coverage.md  # only the page
    python bench/interval_coverage/run.py --check  # names cells that fail

Each experiment draws its noise, is fitted from beside the truth and gets the intervals of every
method. A cell that the file has already, of as many experiments, is not done again. `--only` names
models, situations and methods in any order; what is not named is done in full.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache
from pathlib import Path
from time import perf_counter

os.environ.setdefault("OMP_NUM_THREADS", "1")  # workers are processes

from experiments import SITUATIONS, Laboratory
from figures import Cells, Held, cell, read, write
from intervals import METHODS
from page import PAGE, STORED, page
from plants import PLANTS

import estimica as es
from estimica.base.errors import EstimicaError
from estimica.base.suggest import did_you_mean

BATCH = 25  # experiments that a worker does at once: seconds, so that both are busy to the end
Place = tuple[str, str]
Outcomes = dict[str, list[tuple[Held, str] | None]]


@lru_cache
def laboratory(model: str, situation: str) -> Laboratory:
    """Prepared once in each process."""
    return Laboratory(_plant(model), SITUATIONS[situation])


@lru_cache
def _plant(model: str):
    return PLANTS[model]()


def experiments(place: Place, methods: Sequence[str], seeds: range) -> Outcomes:
    """What the methods say in some experiments."""
    here = laboratory(*place)
    found: Outcomes = {m: [] for m in methods}
    for seed in seeds:
        fit = es.fit(here.study(seed))
        for method in methods:
            found[method].append(_outcome(here, fit, method, seed))
    return found


def _outcome(here: Laboratory, fit: es.Fit, method: str, seed: int) -> tuple[Held, str] | None:
    if not fit.outcome.ok:
        return None
    try:
        told = METHODS[method](fit, here, seed)
    except EstimicaError:
        return None
    return told.held(dict(here.plant.truth)), told.doubt


def wanted(only: str) -> tuple[list[Place], list[str]]:
    """The places and methods that a text names; all of a kind of which it names none."""
    named = [w.strip() for w in only.split(",") if w.strip()]
    kinds = (PLANTS, SITUATIONS, METHODS)
    for word in named:
        if not any(word in kind for kind in kinds):
            every = [n for kind in kinds for n in kind]
            raise SystemExit(
                f"there is no '{word}'"
                + (did_you_mean(word, every) or f" (there are {', '.join(every)})")
            )
    models, situations, methods = ([n for n in kind if n in named] or list(kind) for kind in kinds)
    return [(m, s) for m in models for s in situations], methods


def missing(
    cells: Cells, places: Sequence[Place], methods: Sequence[str], count: int
) -> Iterator[tuple[Place, list[str]]]:
    """What is left to do: places with the methods whose figures are not there."""
    for place in places:
        open_ = [
            m for m in methods if (*place, m) not in cells or cells[(*place, m)].experiments < count
        ]
        if open_:
            yield place, open_


def measure(path: Path, only: str, count: int, workers: int) -> None:
    """Do what is missing in a file; each place is written as soon as it is done."""
    cells = read(path)
    work = list(missing(cells, *wanted(only), count))
    starts = range(0, count, BATCH)
    parts: dict[Place, dict[int, Outcomes]] = defaultdict(dict)
    begun = perf_counter()
    with ProcessPoolExecutor(workers) as pool:
        jobs = {
            pool.submit(experiments, place, methods, range(k, min(k + BATCH, count))): (place, k)
            for place, methods in work
            for k in starts
        }
        for job in as_completed(jobs):
            place, k = jobs[job]
            parts[place][k] = job.result()
            if len(parts[place]) < len(starts):
                continue
            done = parts.pop(place)
            for method in next(iter(done.values())):
                cells[(*place, method)] = cell([o for s in sorted(done) for o in done[s][method]])
            write(path, ordered(cells))
            shown = ", ".join(
                f"{m} {cells[(*place, m)].coverage:.1f}" for m in next(iter(done.values()))
            )
            print(f"{perf_counter() - begun:5.0f} s  {' '.join(place)}: {shown}", file=sys.stderr)


def ordered(cells: Cells) -> Cells:
    """Cells in the order of the table, whenever they were done."""
    keys = [(p, s, m) for p in PLANTS for s in SITUATIONS for m in METHODS]
    return {k: cells[k] for k in keys if k in cells}


def main() -> None:
    """Measure, or write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--experiments", type=int, default=400)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", default="", help="models, situations, methods; comma between")
    parser.add_argument("--out", type=Path, default=STORED, help="file of the figures")
    parser.add_argument("--check", action="store_true", help="only name the cells that do not hold")
    parser.add_argument("--page", type=Path, help="only write the page of the figures, to here")
    given = parser.parse_args()
    if given.check:
        failing = [" ".join(key) for key, one in read(given.out).items() if not one.holds]
        sys.exit("\n".join(failing) or 0)
    if given.page is None:
        measure(given.out, given.only, given.experiments, given.workers)
    if given.page or given.out == STORED:
        (given.page or PAGE).write_text(page(read(given.out)), encoding="utf-8")


if __name__ == "__main__":
    main()
