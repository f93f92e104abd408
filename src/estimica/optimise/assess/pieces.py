"""Pieces: the scores of some samples that follow each other, as the store keeps them.

Values stand one after the other, sample by sample, NaN where there is none; what only some samples
have goes by their numbers within the piece.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from estimica.base.arrays import Indices
from estimica.optimise.assess.families import SampleCourses, empty_courses
from estimica.optimise.criteria.courses import Courses
from estimica.optimise.design import Design

#: the number of the first of some samples, their values, and whether the signals of each are
#: wanted for its curves
Piece = tuple[int, list[list[float]], list[bool]]


def blocks(numbers: Indices, size: int) -> list[Indices]:
    """Rising numbers of samples, cut between blocks of `size` and where some are missing."""
    if not len(numbers):
        return []
    edges = (np.diff(numbers) > 1) | (np.diff(numbers // size) > 0)
    return np.split(numbers, np.flatnonzero(edges) + 1)


def scored(design: Design, piece: Piece) -> Mapping[str, Any]:
    """The scores of some samples, block by block; those whose curves are drawn apart."""
    first, rows, drawn = piece
    q, curves = design.unknowns.coordinates(np.array(rows, float)), np.array(drawn, bool)
    values, least = np.full((2, len(q), len(design.places)), np.nan)
    failed: dict[str, list[str]] = {}
    ended: dict[str, Mapping[str, str]] = {}
    courses: dict[str, SampleCourses] = {}
    alone = 0
    for block in blocks(first + np.arange(len(q)), design.block):
        for some in (block[~curves[block - first]], block[curves[block - first]]):
            own = some - first
            if not len(own):
                continue
            kept = [empty_courses(design) for _ in own] if curves[own[0]] else []
            found = design.at_all(q[own], kept)
            values[own] = np.where(np.isnan(found.least), found.penalised, np.nan)
            least[own] = found.least
            alone += found.alone
            failed |= {str(own[k]): [f.case, f.message] for k, f in found.failures.items()}
            ended |= {str(own[k]): dict(cases) for k, cases in found.ended.items()}
            courses |= {
                str(own[k]): _as_lists(one) for k, one in enumerate(kept) if k not in found.failures
            }
    return {
        "count": len(q),
        "values": values.ravel().tolist(),
        "at_least": None if np.isnan(least).all() else least.ravel().tolist(),
        "failed": failed,
        "ended": {k: v for k, v in ended.items() if k not in failed},
        "courses": courses,
        "alone": alone,
    }


def joined(parts: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Scores of samples that follow each other, as those of one piece."""
    if len(parts) == 1:
        return parts[0]
    firsts = np.cumsum([0, *(p["count"] for p in parts)]).tolist()
    least = [p["at_least"] or [math.nan] * len(p["values"]) for p in parts]
    whole: dict[str, Any] = {
        "count": firsts[-1],
        "values": [v for p in parts for v in p["values"]],
        "at_least": [v for own in least for v in own],
        "alone": sum(p["alone"] for p in parts),
    }
    for name in ("failed", "ended", "courses"):
        pairs = zip(firsts, parts, strict=False)
        whole[name] = {str(a + int(k)): v for a, p in pairs for k, v in p[name].items()}
    return whole


def _as_lists(courses: Mapping[str, Courses]) -> SampleCourses:
    return {
        case: {text: values.tolist() for text, values in one.signals.items()}
        for case, one in courses.items()
    }


def of_rows(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The same from a row for each sample, as older runs have noted it."""
    numbered = {str(k): row for k, row in enumerate(rows)}
    good = [row for row in rows if "values" in row]
    none = [None] * (len(good[0]["values"]) if good else 1)
    return {
        "count": len(rows),
        "values": np.array([row.get("values", none) for row in rows], float),
        "at_least": np.array([row.get("at_least") or none for row in rows], float),
        "failed": {k: [r["case"], r["failed"]] for k, r in numbered.items() if "failed" in r},
        "ended": {k: r["ended"] for k, r in numbered.items() if r.get("ended")},
        "courses": {k: r["courses"] for k, r in numbered.items() if r.get("courses")},
    }
