"""Intervals: what each method says of an experiment, and whether it says that it does not hold."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from experiments import Laboratory

import estimica as es
from estimica.base.view import Table
from estimica.infer.covariance.result import KINDS

#: bootstrap replicates: by the (B + 1)α rule the ends lie at the outermost of 40, and what is
#: covered is 95 % on the average whatever B is; more of them only make widths steadier
REPLICATES = 40
#: words by which a result says that its intervals are not what they seem
DOUBT = re.compile(
    r"colour|autocorrelat|correlated residuals|conditional|(does|do) not hold|hold only|hold for|"
    r"held (at|there)|stay(s|ing)? (at|where)|too (narrow|short|small|wide)|optimistic|"
    r"intervals are (rough|conservative|wide)"
)


@dataclass(frozen=True)
class Told:
    """The 95 % interval of each unknown, and the first sentence that doubts them."""

    intervals: dict[str, tuple[float, float]]
    doubt: str

    def held(self, truth: dict[str, float]) -> dict[str, bool | None]:
        """Whether the truth lies inside, by unknown; None where there is no interval."""
        return {
            n: None if math.isnan(low) or math.isnan(high) else low <= truth[n] <= high
            for n, (low, high) in self.intervals.items()
        }


def plain(fit: es.Fit, laboratory: Laboratory, seed: int) -> Told:
    """What a fit prints."""
    return _told(fit, fit.accuracy.interval, [fit.outcome.message, *_texts(fit.table())])


def hac(fit: es.Fit, laboratory: Laboratory, seed: int) -> Told:
    """Standard errors for noise that may be coloured."""
    found = es.covariance(fit, "hac")
    return _told(fit, found.interval, [t.replace(KINDS["hac"], "") for t in _texts(found.table())])


def bootstrap(fit: es.Fit, laboratory: Laboratory, seed: int) -> Told:
    """Percentiles of the kind of replicates that one gets without asking."""
    found = es.bootstrap(fit, REPLICATES, seed=seed)
    ends = [s.percentile for s in found.spreads]
    return _told(fit, ends, [found.outcome()[1], *_texts(found.table())])


def profile(fit: es.Fit, laboratory: Laboratory, seed: int) -> Told:
    """The profile of one unknown."""
    found = es.profile(fit, laboratory.plant.profiled, points=3)
    (curve,) = found.curves
    texts = [found.outcome()[1], *curve.notes, *_texts(found.table())]
    return Told({curve.unknown.name: curve.interval}, doubt_in(texts))


Method = Callable[[es.Fit, Laboratory, int], Told]
METHODS: dict[str, Method] = {
    "plain": plain,
    "hac": hac,
    "bootstrap": bootstrap,
    "profile": profile,
}


def doubt_in(texts: list[str]) -> str:
    """The first sentence that says that intervals do not hold; empty where there is none."""
    for text in texts:
        for sentence in re.split(r";\s|\n|\.\s", text):
            if DOUBT.search(sentence):
                return sentence.strip()
    return ""


def _told(fit: es.Fit, ends: Iterable[Sequence[float]], texts: list[str]) -> Told:
    names = [u.name for u in fit.unknowns.items]
    pairs = [(float(low), float(high)) for low, high in ends]
    return Told(dict(zip(names, pairs, strict=True)), doubt_in(texts))


def _texts(table: Table) -> Iterator[str]:
    """What a table says in words: its note, and the remarks in its rows."""
    yield table.note
    for row in table.rows:
        yield from (cell for cell in row if isinstance(cell, str))
