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
MOST_HOLES = 20  # rows; chosen: failures beside each other have one cause
MARK, LINE, HOLE = 1, 3, 7  # of the palette


def tables(result: CriterionMap) -> tuple[Table, ...]:
    """All there is to read."""
    return (eigen_analysis(result),)


def eigen_analysis(result: CriterionMap) -> Table:
    """Eigenvalues and eigenvectors of the Hessian."""
    first, second = result.names
    rows = tuple(
        (float(value), float(vector[0]), float(vector[1]))
        for value, vector in zip(result.eigenvalues, result.eigenvectors.T, strict=True)
    )
    how = "Gauss-Newton" if result.kind == "gauss-newton" else "differences of the gradient"
    others = "the others adapted" if result.refitted else "the others held"
    title = f"{result.study}: Hessian of the criterion by {first} and {second} ({how}, {others})"
    x, y = result.centre
    where = f"{first} = {x:.6g}, {second} = {y:.6g}"
    note = f"{result.centre_is}: cost {result.centre_cost:.7g} at {where}"
    if result.worked_by.is_worth_a_word:
        note += f"; points {result.worked_by.words}"
    return Table(("eigenvalue", first, second), rows, title, note)


def picture(result: CriterionMap, kind: str = "map", names: Sequence[str] = ()) -> Heat:
    """Contours of the rise above the lowest cost on a logarithmic scale."""
    if kind not in KINDS:
        raise FitError("F087", f"there is no plot '{kind}'{did_you_mean(kind, KINDS)} (map)")
    first, second = result.names
    low = np.nanmin([result.centre_cost, result.lowest[2]])
    rise = result.cost - low
    positive = rise[np.isfinite(rise) & (rise > 0)]
    floor = float(np.quantile(positive, FLOOR)) if len(positive) else 1.0
    colour = np.where(np.isnan(rise), np.nan, np.log10(np.maximum(np.nan_to_num(rise), floor)))
    return Heat(
        result.x,
        result.y,
        result.cost,
        name_with_unit(first, result.units[0]),
        name_with_unit(second, result.units[1]),
        "cost",
        tuple(_marks(result)),
        f"{result.study}: criterion over {first} and {second}",
        colour,
        "log₁₀(cost − lowest)",
    )


def _marks(result: CriterionMap) -> list[Curve]:
    x, y = (np.array([c]) for c in result.centre)
    marks = [Curve(result.centre_is, x, y, dotted=True, colour=MARK)]
    line = _valley(result)
    if len(line):
        marks.append(Curve("least change", line[:, 0], line[:, 1], dashed=True, colour=LINE))
    if result.holes:
        points = np.array([(h.first, h.second) for h in result.holes])
        marks.append(Curve("failed", points[:, 0], points[:, 1], dotted=True, colour=HOLE))
    return marks


def _valley(result: CriterionMap) -> Vector:
    """The line through the centre along which the cost changes least, within the map."""
    if not math.isfinite(result.ratio):
        return np.zeros((0, 2))
    step = np.array(result.valley) * np.abs(
        np.where(np.array(result.centre) != 0, result.centre, 1.0)
    )
    line = np.array(result.centre) + np.linspace(-3, 3, 2001)[:, None] * step
    inside = (
        (line[:, 0] >= result.x[0])
        & (line[:, 0] <= result.x[-1])
        & (line[:, 1] >= result.y[0])
        & (line[:, 1] <= result.y[-1])
    )
    kept: Vector = line[inside]
    return kept


def page(result: CriterionMap) -> Page:
    """The map, the eigen-analysis, and what failed."""
    answer = Section(ANSWER, result.text[:1].upper() + result.text[1:] + ".")
    sections = [
        Section("Map", _MAP, (picture(result),)),
        Section("Eigen-analysis", _EIGEN, (eigen_analysis(result),)),
    ]
    if result.holes:
        rows = tuple((h.first, h.second, h.message) for h in result.holes[:MOST_HOLES])
        said = f"{len(result.holes)} of {result.cost.size} points could not be simulated."
        sections.append(Section("Holes", said, (Table((*result.names, "what happened"), rows),)))
    told = Page(f"Criterion map: {result.study}", tuple(sections))
    first = (study_summary(result.origin, "map"), answer) if result.origin else (answer,)
    return with_reproduction(told, "map", result.origin, first=first, run=result.run)


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


def as_object(result: CriterionMap) -> dict[str, object]:
    """Plain values; what is not finite is None."""
    first, second = result.names
    plain = finite(
        {
            "command": "map",
            "run": result.run,
            "outcome": dict(zip(("status", "message"), result.outcome, strict=True)),
            "study": result.study,
            "tuners": {first: result.x.tolist(), second: result.y.tolist()},
            "cost": result.cost.tolist(),
            "centre": {
                first: result.centre[0],
                second: result.centre[1],
                "cost": result.centre_cost,
            },
            "lowest": dict(zip((first, second, "cost"), result.lowest, strict=True)),
            "refitted": result.refitted,
            "hessian": result.hessian.tolist(),
            "kind": result.kind,
            "eigenvalues": result.eigenvalues.tolist(),
            "eigenvectors": result.eigenvectors.T.tolist(),
            "ratio": result.ratio,
            "worked_by": result.worked_by.to_dict(),
            "failed": [
                {first: h.first, second: h.second, "message": h.message} for h in result.holes
            ],
        }
    )
    assert isinstance(plain, dict)
    return plain
