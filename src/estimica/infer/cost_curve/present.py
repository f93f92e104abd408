"""A cost curve as a picture, a table, a page and plain values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from estimica.base.errors import FitError
from estimica.base.result import finite
from estimica.base.suggest import did_you_mean
from estimica.base.view import Across, Curve, Curves, Page, Panel, Section, Table, name_with_unit
from estimica.estimate.page_frame import ANSWER, study_summary, with_reproduction
from estimica.infer.cost_curve.result import CostCurve

KINDS = ("curve",)
MOST_HOLES = 20  # rows; chosen: failures beside each other have one cause
MARK, PARABOLA, HOLE = 1, 7, 3  # of the palette
DRAWN = 200  # points of the parabola
REACH = 1.0  # the parabola is drawn up to the height of the curve; further it would dwarf it


def tables(result: CostCurve) -> tuple[Table, ...]:
    """All there is to read."""
    return (summary(result),)


def summary(result: CostCurve) -> Table:
    """The centre, the lowest point, and the curvature."""
    value, cost = result.lowest
    rows = (
        (result.centre_is, result.centre, result.centre_cost, result.curvature),
        ("lowest of the curve", value, cost, None),
    )
    others = "the others adapted" if result.refitted else "the others held"
    how = "Gauss-Newton" if result.kind == "gauss-newton" else "differences of the gradient"
    title = f"{result.study}: cost over {result.name} ({others})"
    name = name_with_unit(result.name, result.unit)
    return Table(("", name, "cost", "curvature"), rows, title, f"curvature: {how}")


def picture(result: CostCurve, kind: str = "curve", names: Sequence[str] = ()) -> Curves:
    """The cost over the tuner, with the parabola that a Gauss-Newton step goes by."""
    if kind not in KINDS:
        raise FitError("F087", f"there is no plot '{kind}'{did_you_mean(kind, KINDS)} (curve)")
    centre = np.array([result.centre]), np.array([result.centre_cost])
    lines = [Curve("cost", result.x, result.cost, marked=len(result.x) <= 60, colour=0)]
    parabola = _parabola(result)
    if parabola is not None:
        lines.append(parabola)
    lines.append(Curve(result.centre_is, *centre, dotted=True, colour=MARK))
    if result.holes:
        floor = float(np.nanmin(result.cost)) if np.isfinite(result.cost).any() else 0.0
        at = np.array([h.value for h in result.holes])
        failed = Curve("failed", at, np.full(len(at), floor), dotted=True, colour=HOLE)
        lines.append(failed)
    label = name_with_unit(result.name, result.unit)
    panel = Panel("cost", tuple(lines), across=Across(label, log=result.log))
    return Curves((panel,), f"{result.study}: cost over {result.name}", label, 380)


def _parabola(result: CostCurve) -> Curve | None:
    """Cost to second order around the centre, as high as the curve is; none where it is flat."""
    known = result.cost[np.isfinite(result.cost)]
    height = float(np.ptp(known)) if len(known) else 0.0
    if not (result.curvature > 0 and height > 0):
        return None
    reach = np.sqrt(2 * REACH * height / result.curvature)
    low = max(result.centre - reach, float(result.x[0]))
    high = min(result.centre + reach, float(result.x[-1]))
    x = np.linspace(low, high, DRAWN)
    cost = result.centre_cost + 0.5 * result.curvature * (x - result.centre) ** 2
    return Curve("to second order", x, cost, dashed=True, colour=PARABOLA)


def page(result: CostCurve) -> Page:
    """The curve, its numbers, and what failed."""
    answer = Section(ANSWER, result.text[:1].upper() + result.text[1:] + ".")
    sections = [Section("Curve", _CURVE, (picture(result), summary(result)))]
    if result.holes:
        rows = tuple((h.value, h.message) for h in result.holes[:MOST_HOLES])
        said = f"{len(result.holes)} of {len(result.x)} points could not be simulated."
        sections.append(Section("Holes", said, (Table((result.name, "what happened"), rows),)))
    told = Page(f"Cost curve: {result.study}", tuple(sections))
    first = (study_summary(result.origin, "cost_curve"), answer) if result.origin else (answer,)
    return with_reproduction(told, "map", result.origin, first=first, run=result.run)


_CURVE = (
    "The cost, the number that the fit makes small, over one tuner. A narrow valley determines it "
    "well; several valleys mean that a fit may end in the wrong one. The dashed parabola has the "
    "curvature at the centre: where it leaves the curve, standard errors and the steps of a search "
    "are no longer to be trusted."
)


def as_object(result: CostCurve) -> dict[str, object]:
    """Plain values; what is not finite is None."""
    value, cost = result.lowest
    plain = finite(
        {
            "command": "map",
            "run": result.run,
            "outcome": dict(zip(("status", "message"), result.outcome, strict=True)),
            "study": result.study,
            "tuners": {result.name: result.x.tolist()},
            "cost": result.cost.tolist(),
            "centre": {result.name: result.centre, "cost": result.centre_cost},
            "lowest": {result.name: value, "cost": cost},
            "minima": list(result.minima),
            "refitted": result.refitted,
            "curvature": result.curvature,
            "kind": result.kind,
            "worked_by": result.worked_by.to_dict(),
            "failed": [{result.name: h.value, "message": h.message} for h in result.holes],
        }
    )
    assert isinstance(plain, dict)
    return plain
