"""Figures: what experiments have shown of each cell of the table, and the file that keeps it."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

#: per cent by which the share that holds the truth may be off 95 in 400 experiments: 2.75 standard
#: deviations of it; with fewer experiments it scatters as much more
OFF = 3.0
#: the same of the unknown that is furthest off: four standard deviations, since it is the worst of
#: some four in each of 144 cells
WORST_OFF = 4.5
FULL = 400  # experiments
#: per cent of the results that must bear the sentence for it to be said of the cell
MOSTLY = 90.0
Held = Mapping[str, bool | None]


@dataclass(frozen=True)
class Cell:
    """A model, a situation and a method; coverages in per cent."""

    experiments: int
    failed: int  # fits that did not come to an optimum, or whose method refused
    coverage: float  # of all unknowns together
    worst: str  # the unknown that is covered furthest from 95 %
    worst_coverage: float
    missing: float  # per cent of the intervals that do not exist
    told: float  # per cent of the results that say their intervals do not hold
    silent: float | None  # coverage of those that do not say so
    says: str  # the sentence

    @property
    def holds(self) -> bool:
        """Whether 95 % is true, or the results say that it is not."""
        return self.is_true or self.is_told

    @property
    def is_true(self) -> bool:
        """Whether 95 % is true, of all unknowns together and of each."""
        wide = wider(self.experiments)
        return (
            abs(self.coverage - 95) <= OFF * wide
            and abs(self.worst_coverage - 95) <= WORST_OFF * wide
        )

    @property
    def is_told(self) -> bool:
        """Whether results say it: nearly all do, or those that do not are right."""
        return self.told >= MOSTLY or (
            self.told > 0
            and self.silent is not None
            and abs(self.silent - 95) <= OFF * wider(self.experiments)
        )


def wider(experiments: int) -> float:
    """How much further than in a full cell the share of so many experiments scatters."""
    return math.sqrt(FULL / min(experiments, FULL))


def cell(outcomes: Sequence[tuple[Held, str] | None]) -> Cell:
    """The figures of experiments: each what it held and what it said, or None where it failed."""
    done = [o for o in outcomes if o is not None]
    silent = [held for held, doubt in done if not doubt]
    every = [held for held, _ in done]
    by_unknown = {n: _share([h.get(n) for h in every]) for n in (every[0] if every else {})}
    known = {n: c for n, c in by_unknown.items() if c is not None}
    worst = max(known, key=lambda n: abs(known[n] - 95), default="")
    flags = [flag for held in every for flag in held.values()]
    doubts = Counter(doubt for _, doubt in done if doubt)
    return Cell(
        experiments=len(outcomes),
        failed=len(outcomes) - len(done),
        coverage=_share(flags) or 0.0,
        worst=worst,
        worst_coverage=known.get(worst, 0.0),
        missing=round(100 * sum(f is None for f in flags) / max(len(flags), 1), 2),
        told=round(100 * sum(doubts.values()) / max(len(done), 1), 2),
        silent=_share([flag for held in silent for flag in held.values()]),
        says=doubts.most_common(1)[0][0] if doubts else "",
    )


def _share(flags: Sequence[bool | None]) -> float | None:
    known = [f for f in flags if f is not None]
    return round(100 * sum(known) / len(known), 2) if known else None


Cells = dict[tuple[str, str, str], Cell]


def read(path: Path) -> Cells:
    """The cells of a file, by model, situation and method; none where there is no file."""
    if not path.exists():
        return {}
    kept = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return {
        (model, situation, method): Cell(**figures)
        for model, situations in kept.items()
        for situation, methods in situations.items()
        for method, figures in methods.items()
    }


def write(path: Path, cells: Cells) -> None:
    """Keep the cells, in the order in which they come."""
    kept: dict[str, dict[str, dict[str, object]]] = {}
    for (model, situation, method), one in cells.items():
        kept.setdefault(model, {}).setdefault(situation, {})[method] = asdict(one)
    text = json.dumps({"cells": kept}, indent=1, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8")
