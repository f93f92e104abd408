"""Pictures of a back-calculation: points against a variable, and laws through them."""

from __future__ import annotations

import math

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.errors import InferError
from estimica.base.suggest import did_you_mean
from estimica.base.view import Curve, Curves, Panel, name_with_unit
from estimica.infer.backcalculation.law import Law
from estimica.infer.backcalculation.result import BackCalculation

#: (horizontal, vertical) axis logarithmic
AXES = {
    "linear": (False, False),
    "lin-log": (False, True),
    "log-lin": (True, False),
    "log-log": (True, True),
}
HEADINGS = {
    "linear": "linear axes: a line is straight",
    "lin-log": "vertical axis logarithmic: an exponential is straight",
    "log-lin": "horizontal axis logarithmic: a logarithm is straight",
    "log-log": "both axes logarithmic: a power law is straight",
}
GREY = 7  # of the palette
FINE = 200  # stamps of a law's curve
MOST_LAWS = 4


def picture(
    found: BackCalculation,
    name: str | None = None,
    against: str | None = None,
    axes: str = "linear",
) -> Curves:
    """Points of each case, the best laws in `against` alone, and the best law if it has more."""
    name = found.compute[0] if name is None else _known(name, found.compute, "computed variable")
    if not found.against:
        raise InferError("I618", "there is nothing to plot against; name a variable in against")
    against = (
        found.against[0] if against is None else _known(against, found.against, "variable against")
    )
    require_axes(axes)
    across, up = AXES[axes]
    x_all, y_all = found.column(against), found.column(name)
    drawn = np.isfinite(x_all) & np.isfinite(y_all)
    drawn &= (x_all > 0) if across else True
    drawn &= (y_all > 0) if up else True
    if not drawn.any():
        which = against if across and not (x_all > 0).any() else name
        raise InferError("I619", f"axes '{axes}': '{which}' is positive at no point; take linear")
    curves = _points(found, x_all, y_all, drawn)
    curves += _laws(found, name, against, x_all[drawn], across, up)
    label = name_with_unit(name, found.units.get(name, ""))
    panel = Panel(label, tuple(curves), log=up, group=HEADINGS[axes])
    title = f"{found.study}: {name} against {against}"
    horizontal = name_with_unit(against, found.units.get(against, ""))
    return Curves((panel,), title, horizontal, 300, log_time=across)


def require_axes(axes: str) -> None:
    """Complain about axes that do not exist."""
    _known(axes, tuple(AXES), "kind of axes")


def possible_axes(found: BackCalculation, name: str, against: str) -> list[str]:
    """Linear axes, and logarithmic ones where all points are positive."""
    x, y = found.column(against), found.column(name)
    usable = np.isfinite(x) & np.isfinite(y)
    positive = ((x[usable] > 0).all(), (y[usable] > 0).all())
    return [
        axes
        for axes, log in AXES.items()
        if usable.any() and all(p or not wanted for p, wanted in zip(positive, log, strict=True))
    ]


def _known(name: str, names: tuple[str, ...], what: str) -> str:
    if name not in names:
        hint = did_you_mean(name, names) or f" (there are {', '.join(names)})"
        raise InferError("I617", f"there is no {what} '{name}'{hint}")
    return name


def _points(found: BackCalculation, x: Vector, y: Vector, drawn: Flags) -> list[Curve]:
    curves, begin = [], 0
    for k, case in enumerate(found.cases):
        rows = np.arange(begin, begin + len(case.stamps))
        begin += len(case.stamps)
        rows = rows[drawn[rows]]
        colour = 0 if len(found.cases) == 1 else k
        label = "computed" if len(found.cases) == 1 else case.case
        curves.append(Curve(label, x[rows], y[rows], dotted=True, colour=colour))
    return curves


def _laws(
    found: BackCalculation, name: str, against: str, x: Vector, across: bool, up: bool
) -> list[Curve]:
    laws = found.laws.get(name)
    if laws is None:
        return []
    low, high = float(x.min()), float(x.max())
    if across:
        fine = np.exp(np.linspace(math.log(low), math.log(high), FINE))
    else:
        fine = np.linspace(low, high, FINE)
    seen = _range(found.column(name), up)
    colour = max(len(found.cases), 1)
    best = laws.best
    curves = []
    if len(best.regressors) > 1 and against in best.regressors:
        curves += _adjusted(found, best, against, fine, (across, up), colour)
        colour += 1
    chosen = [law for law in laws.ranked if set(law.regressors) <= {against}][:MOST_LAWS]
    for k, law in enumerate(chosen):
        value = law.at({against: fine})
        kept = (value >= seen[0]) & (value <= seen[1])
        curves.append(
            Curve(
                law.label,
                fine[kept],
                value[kept],
                description=law.short,
                colour=min(colour + k, GREY),
                dashed=law is not best,
                strength=1.0 if law is best else 0.7,
            )
        )
    return curves


def _range(y: Vector, up: bool) -> tuple[float, float]:
    """Where laws are drawn: not so far from the points that these shrink."""
    y = y[np.isfinite(y) & ((y > 0) | (not up))]
    low, high = float(y.min()), float(y.max())
    if up:
        return low / 1.5, high * 1.5
    margin = 0.25 * (high - low) or abs(high) or 1.0
    return low - margin, high + margin


def _adjusted(
    found: BackCalculation,
    law: Law,
    against: str,
    fine: Vector,
    log: tuple[bool, bool],
    colour: int,
) -> list[Curve]:
    """A law in several regressors, with the others in their middle, and the points moved there."""
    columns = {n: found.column(n) for n in law.regressors}
    y = found.column(law.target)
    usable = np.isfinite(np.array([y, *columns.values()])).all(axis=0)
    columns = {n: c[usable] for n, c in columns.items()}
    middle = {n: float(np.median(c)) for n, c in columns.items() if n != against}
    x = columns[against]
    here, there = law.at(columns), law.at({against: x} | {n: x * 0 + m for n, m in middle.items()})
    product = law.kind in ("power", "exponential", "arrhenius")
    moved = y[usable] * there / here if product else y[usable] + there - here
    shown = ((moved > 0) | (not log[1])) & ((x > 0) | (not log[0]))
    label = ", ".join(f"{n} = {m:.3g}" for n, m in middle.items())
    curve = law.at({against: fine} | {n: fine * 0 + m for n, m in middle.items()})
    kept = (curve > 0) | (not log[1])
    points = Curve(
        f"moved to {label}", x[shown], moved[shown], dotted=True, colour=colour, strength=0.8
    )
    line = Curve(
        f"{law.label} at {label}", fine[kept], curve[kept], description=law.short, colour=colour
    )
    return [points, line]
