"""A criterion map as a picture, a table, a page and plain values."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import FitError
from estimica.base.result import finite
from estimica.base.suggest import did_you_mean
from estimica.base.view import Curve, Heat, Page, Section, Table, name_with_unit
from estimica.estimate.page_frame import ANSWER, study_summary, with_reproduction
from estimica.infer.criterion_map.result import CriterionMap

KINDS = ("map",)
FLOOR = 0.05  # share of the points drawn as lowest: below, colours show only where the grid met it
MOST_HOLES = 20
MARK, LINE, HOLE = 1, 3, 7  # of the palette


def tables(found: CriterionMap) -> tuple[Table, ...]:
    """All there is to read."""
    return (eigen_analysis(found),)


def eigen_analysis(found: CriterionMap) -> Table:
    """Eigenvalues and eigenvectors of the Hessian."""
    first, second = found.names
    rows = tuple(
        (float(value), float(vector[0]), float(vector[1]))
        for value, vector in zip(found.eigenvalues, found.eigenvectors.T, strict=True)
    )
    how = "Gauss-Newton" if found.kind == "gauss-newton" else "differences of the gradient"
    others = "the others adapted" if found.refitted else "the others held"
    title = f"{found.study}: Hessian of the criterion by {first} and {second} ({how}, {others})"
    x, y = found.centre
    note = (
        f"{found.centre_is}: cost {found.centre_cost:.7g} at {first} = {x:.6g}, {second} = {y:.6g}"
    )
    return Table(("eigenvalue", first, second), rows, title, note)


def picture(found: CriterionMap, kind: str = "map", names: Sequence[str] = ()) -> Heat:
    """Contours of the rise above the lowest cost on a logarithmic scale."""
    if kind not in KINDS:
        raise FitError("F087", f"there is no plot '{kind}'{did_you_mean(kind, KINDS)} (map)")
    first, second = found.names
    low = np.nanmin([found.centre_cost, found.lowest[2]])
    rise = found.cost - low
    positive = rise[np.isfinite(rise) & (rise > 0)]
    floor = float(np.quantile(positive, FLOOR)) if len(positive) else 1.0
    colour = np.where(np.isnan(rise), np.nan, np.log10(np.maximum(np.nan_to_num(rise), floor)))
    return Heat(
        found.x,
        found.y,
        found.cost,
        name_with_unit(first, found.units[0]),
        name_with_unit(second, found.units[1]),
        "cost",
        tuple(_marks(found)),
        f"{found.study}: criterion over {first} and {second}",
        colour,
        "log₁₀(cost − lowest)",
    )


def _marks(found: CriterionMap) -> list[Curve]:
    x, y = (np.array([c]) for c in found.centre)
    marks = [Curve(found.centre_is, x, y, dotted=True, colour=MARK)]
    line = _valley(found)
    if len(line):
        marks.append(Curve("least change", line[:, 0], line[:, 1], dashed=True, colour=LINE))
    if found.holes:
        points = np.array([(h.first, h.second) for h in found.holes])
        marks.append(Curve("failed", points[:, 0], points[:, 1], dotted=True, colour=HOLE))
    return marks


def _valley(found: CriterionMap) -> Vector:
    """The line through the centre along which the cost changes least, within the map."""
    if not math.isfinite(found.ratio):
        return np.zeros((0, 2))
    step = np.array(found.valley) * np.abs(np.where(np.array(found.centre) != 0, found.centre, 1.0))
    line = np.array(found.centre) + np.linspace(-3, 3, 2001)[:, None] * step
    inside = (
        (line[:, 0] >= found.x[0])
        & (line[:, 0] <= found.x[-1])
        & (line[:, 1] >= found.y[0])
        & (line[:, 1] <= found.y[-1])
    )
    kept: Vector = line[inside]
    return kept


def page(found: CriterionMap) -> Page:
    """The map, the eigen-analysis, and what failed."""
    answer = Section(ANSWER, found.text[:1].upper() + found.text[1:] + ".")
    sections = [
        Section("Map", _MAP, (picture(found),)),
        Section("Eigen-analysis", _EIGEN, (eigen_analysis(found),)),
    ]
    if found.holes:
        rows = tuple((h.first, h.second, h.message) for h in found.holes[:MOST_HOLES])
        said = f"{len(found.holes)} of {found.cost.size} points could not be simulated."
        sections.append(Section("Holes", said, (Table((*found.names, "what happened"), rows),)))
    told = Page(f"Criterion map: {found.study}", tuple(sections))
    first = (study_summary(found.origin, "map"), answer) if found.origin else (answer,)
    return with_reproduction(told, "map", found.origin, first=first, run=found.run)


_MAP = (
    "Contours are lines of equal cost, the number that the fit makes small: the brighter, the "
    "better the model meets the data. The dashed line is the direction in which the cost changes "
    "least."
)
_EIGEN = (
    "The curvature of the cost at the centre, along its two main directions: a small eigenvalue "
    "belongs to a combination of the tuners that the data hardly determine. The ratio of both, for "
    "relative changes, is 1 for a round valley and near 0 for a long one."
)


def as_object(found: CriterionMap) -> dict[str, object]:
    """Plain values; what is not finite is None."""
    first, second = found.names
    plain = finite(
        {
            "command": "map",
            "run": found.run,
            "outcome": dict(zip(("status", "message"), found.outcome, strict=True)),
            "study": found.study,
            "tuners": {first: found.x.tolist(), second: found.y.tolist()},
            "cost": found.cost.tolist(),
            "centre": {first: found.centre[0], second: found.centre[1], "cost": found.centre_cost},
            "lowest": dict(zip((first, second, "cost"), found.lowest, strict=True)),
            "refitted": found.refitted,
            "hessian": found.hessian.tolist(),
            "kind": found.kind,
            "eigenvalues": found.eigenvalues.tolist(),
            "eigenvectors": found.eigenvectors.T.tolist(),
            "ratio": found.ratio,
            "failed": [
                {first: h.first, second: h.second, "message": h.message} for h in found.holes
            ],
        }
    )
    assert isinstance(plain, dict)
    return plain
