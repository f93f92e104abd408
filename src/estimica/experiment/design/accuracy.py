"""What a choice by R or S_min costs: the candidate with the smallest standard errors beside it.

R compares directions with each other and not with the noise: an input that shows all of them
equally badly has a small R.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.text import short
from estimica.base.view import Section, Table
from estimica.experiment.design.information import InformationMeasures
from estimica.experiment.design.result import Candidate

#: how much larger the errors of the choice must be to be told of. Chosen: less is within what the
#: nominal values and the noise are known to
WORTH = 1.05
_WORDS = {"R": "Least R", "S_min": "Greatest S_min"}
_TOLD = (
    "R and S_min are relative to the size of the outputs, and R compares directions only with each "
    "other: an input that shows every tuner equally badly has a small R. Where accuracy is what "
    "you want, take the smallest standard errors (criterion A)."
)


def most_exact(candidates: Sequence[Candidate]) -> Candidate | None:
    """The candidate with the smallest relative standard errors in the mean square."""
    sizes = [(_size(c), k) for k, c in enumerate(candidates)]
    size, k = min(sizes, default=(math.inf, -1))
    return candidates[k] if math.isfinite(size) else None


def cost_of_choice(chosen: Candidate, exact: Candidate) -> float:
    """How many times as large the errors of the choice are, in the mean square."""
    return _size(chosen) / _size(exact)


def accuracy_note(
    names: Sequence[str], criterion: str, chosen: Candidate, candidates: Sequence[Candidate]
) -> str:
    """What is said where the choice costs accuracy; nothing where it does not."""
    exact = most_exact(candidates)
    if criterion not in _WORDS or exact is None or cost_of_choice(chosen, exact) <= WORTH:
        return ""
    a, b = chosen.judgement, exact.judgement
    assert a is not None
    assert b is not None
    shares = zip(names, _errors(a), _errors(b), strict=True)
    if a.relative is None:
        listed = ", ".join(f"{n} {x / y:.3g} times as large" for n, x, y in shares)
        errors = f"standard errors for the same noise in per cent of the output are {listed}"
    else:
        listed = ", ".join(f"{n} {100 * x:.3g} % instead of {100 * y:.3g} %" for n, x, y in shares)
        errors = f"standard errors are {listed}"
    return (
        f"{_WORDS[criterion]} costs accuracy: compared with {exact.label} {errors}; "
        f"criterion A chooses the smallest errors"
    )


def accuracy_section(
    names: Sequence[str], criterion: str, chosen: Candidate, candidates: Sequence[Candidate]
) -> tuple[Section, ...]:
    """Both choices side by side, where they differ by more than a little."""
    exact = most_exact(candidates)
    if not accuracy_note(names, criterion, chosen, candidates) or exact is None:
        return ()
    rows = tuple(
        (
            word,
            c.label,
            short(c.judgement.measures.R),
            short(c.judgement.measures.S_min),
            *(short(100 * float(e)) for e in _errors(c.judgement)),
        )
        for word, c in ((_WORDS[criterion], chosen), ("Smallest errors", exact))
        if c.judgement is not None
    )
    known = chosen.judgement is not None and chosen.judgement.relative is not None
    what = "std. error %" if known else "std. error at noise like the output, %"
    columns = ("choice", "candidate", "R", "S_min", *(f"{n}: {what}" for n in names))
    return (Section("What the choice costs", _TOLD, (Table(columns, rows),)),)


def _errors(judgement: InformationMeasures) -> Vector:
    """Relative standard errors: with the known noise, or with noise as large as the output."""
    if judgement.relative is not None:
        return judgement.relative
    return np.asarray(1 / np.maximum(judgement.measures.S_i_min, 1e-300))


def _size(candidate: Candidate) -> float:
    j = candidate.judgement
    if j is None or j.measures.rank < len(j.measures.names):
        return math.inf
    return float(np.sqrt(np.mean(_errors(j) ** 2)))
