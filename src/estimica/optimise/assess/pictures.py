"""Pictures of an assessment: curves, maps, clouds, parallel coordinates, distributions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from estimica.base.arrays import Flags, Indices, Vector
from estimica.base.errors import DesignError
from estimica.base.suggest import did_you_mean
from estimica.base.view import (
    Across,
    Band,
    Bar,
    Bars,
    Curve,
    Curves,
    Heat,
    Panel,
    Parallel,
    Upright,
    ViewElement,
    name_with_unit,
)
from estimica.optimise.assess.effects import tornado
from estimica.optimise.assess.family_pictures import family_curves
from estimica.optimise.assess.result import Assessment
from estimica.optimise.criteria.score import CensoredColumn

BLUE, RED, GREEN, PINK, ORANGE, GREY = 0, 1, 2, 3, 4, 7
APART = 0.08  # of the range of values: a gap beside them, and the width of the bar behind it
NOT_REACHED = "not reached: no value"
BINS = 60
MOST_AXES = 12  # of parallel coordinates
KINDS = (
    "auto", "curves", "map", "scatter", "parallel", "tornado", "distribution", "cdf",
    "sensitivity", "local", "families",
)  # fmt: skip


def picture(assessment: Assessment, kind: str = "auto", names: Sequence[str] = ()) -> ViewElement:
    """One picture by its name."""
    known = list(dict.fromkeys(p.criterion.name for p in assessment.places))
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or f"; there are {', '.join(known)}"
            raise DesignError("O072", f"there is no criterion '{name}'{hint}")
    if kind not in KINDS:
        hint = did_you_mean(kind, KINDS) or f"; use one of {', '.join(KINDS)}"
        raise DesignError("O073", f"there is no plot '{kind}'{hint}")
    if kind == "auto":
        kind = natural(assessment)
    chosen = tuple(names)
    if kind == "curves":
        return curves(assessment, chosen)
    if kind == "families":
        return family_curves(assessment, chosen)
    if kind == "map":
        return maps(assessment, chosen)[0]
    if kind == "scatter":
        return scatter(assessment, chosen)
    if kind == "parallel":
        return parallel(assessment)
    if kind == "tornado":
        return tornado(assessment, chosen)
    if kind in ("sensitivity", "local"):
        return sensitivity_bars(assessment) if kind == "sensitivity" else local_bars(assessment)
    return distributions(assessment, chosen, cumulative=kind == "cdf")


def natural(assessment: Assessment) -> str:
    """The kind of picture that suits the samples."""
    if assessment.command == "montecarlo":
        return "distribution"
    if assessment.design == "one-at-a-time" or len(assessment.samples.names) == 1:
        return "curves"
    return "map" if is_map(assessment) else "parallel"


def is_map(assessment: Assessment) -> bool:
    """Whether the samples are a grid of two parameters."""
    return len(assessment.samples.axes) == 2 and all(len(a) > 1 for a in assessment.samples.axes)


def parameter_labels(assessment: Assessment) -> list[str]:
    """The parameters with their units."""
    units = {q.name: q.unit for q in assessment.study.model.quantities()}
    return [name_with_unit(n, units.get(n, "")) for n in assessment.samples.names]


# --- curves and maps ------------------------------------------------------------------------------


def curves(assessment: Assessment, names: tuple[str, ...] = ()) -> Curves:
    """Every criterion/demand along each parameter; of several only where one moves at a time."""
    labels = parameter_labels(assessment)
    if len(labels) > 1 and assessment.design != "one-at-a-time":
        raise DesignError(
            "O074", "curves need one parameter, or design = 'one-at-a-time'; use plot('scatter')"
        )
    values = assessment.samples.values
    panels = []
    for j, label in enumerate(labels):
        rest = [k for k in range(len(labels)) if k != j]
        own = (values[:, rest] == values[0, rest]).all(axis=1)
        order = np.flatnonzero(own)[np.argsort(values[own, j])]
        lines = [
            line
            for k, p in enumerate(assessment.places)
            if p.role != "watch" and (not names or p.criterion.name in names)
            for line in _along(assessment, order, j, k)
        ]
        steps = np.diff(np.log(values[order, j])) if (values[order, j] > 0).all() else np.ones(0)
        even = len(steps) > 1 and bool(np.allclose(steps, steps[0]))
        panels.append(
            Panel(
                "criterion/demand",
                tuple(lines),
                (Band("satisfied" if j == 0 else "", 0.0, 1.0),),
                group=label if len(labels) > 1 else "",
                across=Across("" if len(labels) > 1 else label, log=even),
            )
        )
    return Curves(tuple(panels), f"{assessment.study.name}: criteria", labels[0], panel_height=300)


def _along(assessment: Assessment, order: Indices, j: int, k: int) -> list[Curve]:
    """A criterion along a parameter, and where it was not reached what it is at least."""
    p, x = assessment.places[k], assessment.samples.values[order, j]
    marked = len(order) <= 60
    lines = [
        Curve(p.label, x, assessment.weighted[order, k], marked=marked, colour=k, listed=j == 0)
    ]
    open_ = assessment.open[order, k]
    if open_.any():
        least = assessment.weighted_least[order, k][open_]
        name = f"{p.label}: {p.open_word}, above"
        lines.append(Curve(name, x[open_], least, dotted=True, colour=k, listed=j == 0))
    return lines


def maps(assessment: Assessment, names: tuple[str, ...] = ()) -> list[Heat]:
    """Maps over two parameters: the largest criterion/demand, then each criterion in each case."""
    if not is_map(assessment):
        raise DesignError(
            "O075", "a map needs a grid of two parameters; use plot('scatter') or plot('parallel')"
        )
    (x, y), (x_label, y_label) = assessment.samples.axes, parameter_labels(assessment)
    across, up = np.argsort(x), np.argsort(y)

    def on_grid(values: Vector) -> Vector:
        placed: Vector = values.reshape(len(x), len(y))[np.ix_(across, up)].T
        return placed

    def map_(values: Vector, least: Vector, title: str, label: str) -> Heat:
        # a demand does not hold where a criterion was not reached, however short its window
        missed = np.where(np.isnan(values), np.maximum(least, np.nextafter(1.0, 2.0)), values)
        border = _border(x[across], y[up], on_grid(missed))
        return Heat(x[across], y[up], on_grid(values), x_label, y_label, label, border, title)

    heats = []
    if not names:
        title = "The largest criterion/demand"
        heats.append(
            map_(assessment.largest, assessment.largest_at_least, title, "criterion/demand")
        )
    for k, p in enumerate(assessment.places):
        if p.criterion.name in names or not names:
            own = assessment.weighted[:, k], assessment.weighted_least[:, k]
            heats.append(map_(*own, p.label, f"{p.criterion.name}/demand"))
    return heats if len(assessment.places) > 1 or names else heats[:1]


def _border(x: Vector, y: Vector, grid: Vector) -> tuple[Curve, ...]:
    """Where the value is 1, as pieces of a line: linear between grid points."""
    across: list[float] = []
    up: list[float] = []
    level = grid - 1.0
    for i, j in _crossed(level):
        corners = ((i, j), (i, j + 1), (i + 1, j + 1), (i + 1, j))
        ends = []
        for a, b in zip(corners, (*corners[1:], corners[0]), strict=True):
            u, v = level[a], level[b]
            if np.isfinite(u) and np.isfinite(v) and (u <= 0) != (v <= 0):
                t = u / (u - v)
                ends.append((x[a[1]] + t * (x[b[1]] - x[a[1]]),
                             y[a[0]] + t * (y[b[0]] - y[a[0]])))  # fmt: skip
        for a, b in zip(ends[::2], ends[1::2], strict=False):
            across += [a[0], b[0], np.nan]
            up += [a[1], b[1], np.nan]
    if not across:
        return ()
    return (Curve("demand holds up to here", np.array(across), np.array(up), colour=RED),)


def _crossed(level: Vector) -> list[tuple[int, int]]:
    """Cells of a grid that have corners on both sides of zero: few of a fine grid."""
    low = np.isfinite(level) & (level <= 0)
    high = np.isfinite(level) & (level > 0)

    def at_a_corner(marked: Flags) -> Flags:
        return marked[:-1, :-1] | marked[1:, :-1] | marked[:-1, 1:] | marked[1:, 1:]

    both = np.argwhere(at_a_corner(low) & at_a_corner(high))
    return [(int(i), int(j)) for i, j in both]


# --- clouds ---------------------------------------------------------------------------------------


def scatter(assessment: Assessment, names: tuple[str, ...] = ()) -> Curves:
    """The largest criterion/demand against each parameter, by colour whether all demands hold."""
    score = worst(assessment, names)
    counted = assessment.drawn
    open_ = not_reached(assessment, names) & counted
    good, held = assessment.good & counted & ~open_, assessment.satisfied & counted
    failed = counted & ~assessment.good
    what = " and ".join(names) if names else "criterion"
    panels = []
    floor = float(score[good].min()) if good.any() else 0.0
    shelf = above_all(score[good], 1.0)
    heights = {NOT_REACHED: shelf, "failed": floor}  # where these stand means nothing
    for j, label in enumerate(parameter_labels(assessment)):
        column = assessment.samples.values[:, j]
        clouds = [
            Curve(word, column[rows], np.full(int(rows.sum()), heights[word]) if word in heights
                  else score[rows], dotted=True, colour=colour, listed=j == 0)
            for word, rows, colour in (
                ("not satisfied", good & ~held, RED),
                ("satisfied", held, GREEN),
                (NOT_REACHED, open_, ORANGE),
                ("failed", failed, GREY),
            )
            if rows.any()
        ]  # fmt: skip
        panel = Panel(f"largest {what}/demand", tuple(clouds), (Band("", min(floor, 0.0), 1.0),),
                      group=label, across=Across(""))  # fmt: skip
        panels.append(panel)
    title = f"{assessment.study.name}: the largest {what}/demand"
    return Curves(tuple(panels), title, "", panel_height=230)


def above_all(values: Vector, *others: float) -> float:
    """A place apart from all values, for what has none."""
    known = [*values[np.isfinite(values)].tolist(), *others] or [0.0]
    top, width = max(known), max(known) - min(known)
    return float(top + 2 * APART * (width or abs(top) or 1.0))


def worst(assessment: Assessment, names: tuple[str, ...] = ()) -> Vector:
    """The largest criterion/demand of each sample, of all criteria or of some; at least so large
    where one was not reached."""
    if not names:
        return assessment.largest_at_least
    return np.asarray(assessment.weighted_least[:, _named(assessment, names)].max(axis=1), float)


def not_reached(assessment: Assessment, names: tuple[str, ...] = ()) -> Flags:
    """Samples in which a criterion that counts, or one of these, was not reached."""
    if not names:
        return np.isnan(assessment.largest) & assessment.good
    return np.asarray(assessment.open[:, _named(assessment, names)].any(axis=1))


def _named(assessment: Assessment, names: tuple[str, ...]) -> list[int]:
    return [k for k, p in enumerate(assessment.places) if p.criterion.name in names]


def parallel(assessment: Assessment) -> Parallel:
    """A line for each sample through its parameters and the worst case of each criterion."""
    rows = assessment.good & assessment.drawn
    axes = [
        Upright(label, assessment.samples.values[rows, j])
        for j, label in enumerate(parameter_labels(assessment))
    ]
    criteria = list(dict.fromkeys(p.criterion.name for p in assessment.places))
    for name in criteria:
        open_ = not_reached(assessment, (name,))[rows]
        word = assessment.places[_named(assessment, (name,))[0]].open_word
        label = f"{name}/demand" + (f" (top: {open_.sum()} {word})" if open_.any() else "")
        values = worst(assessment, (name,))[rows]
        axes.append(Upright(label, np.where(open_, above_all(values[~open_]), values)))
    title = f"{assessment.study.name}: parameters and criteria"
    labels = "satisfied", "not satisfied"
    return Parallel(tuple(axes[:MOST_AXES]), assessment.satisfied[rows], labels, title)


# --- distributions --------------------------------------------------------------------------------


def distributions(
    assessment: Assessment, names: tuple[str, ...] = (), *, cumulative: bool = False
) -> Curves:
    """How often each value of a criterion comes, or how often one at most so large; the demand."""
    rows = assessment.good & assessment.drawn
    panels: list[Panel] = []
    for k, p in enumerate(assessment.places):
        if rows.any() and (not names or p.criterion.name in names):
            draw = _cumulative if cumulative else _histogram
            panels.append(draw(assessment, assessment.column(k), first=not panels))
    what = "share of samples up to each value" if cumulative else "distributions"
    return Curves(tuple(panels), f"{assessment.study.name}: {what}", "", 170)


def _histogram(assessment: Assessment, own: CensoredColumn, *, first: bool) -> Panel:
    values = own.reached if len(own.reached) else own.least
    count = min(BINS, max(8, int(np.sqrt(len(values)))))
    low, high = float(values.min()), float(values.max())
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        low, high = low - 0.5 * (abs(low) or 1.0), high + 0.5 * (abs(high) or 1.0)
    counts, edges = np.histogram(own.reached, bins=count, range=(low, high))
    steps = np.concatenate([[0.0], counts.astype(float), [0.0]])
    line = Curve("samples", np.append(edges[0], edges), steps, stepped=True, colour=BLUE,
                 listed=first)  # fmt: skip
    panel = _marked(assessment, own, line, float(counts.max()), "samples", first)
    if not own.open:
        return panel
    right = max([high, *(float(np.max(c.time)) for c in panel.curves)]) + APART * (high - low)
    return replace(panel, curves=(*panel.curves, _apart(own, right, high - low, first)))


def _apart(own: CensoredColumn, right: float, width: float, first: bool) -> Curve:
    """How many have no value, as a bar beside all values: where it stands means nothing."""
    ends = right + APART * width * np.array([0.0, 0.0, 1.0, 1.0])
    heights = own.open * np.array([0.0, 1.0, 1.0, 0.0])
    name = f"{own.place.open_word}: no value"
    return Curve(name, ends, heights, dashed=True, colour=PINK, listed=first)


def _cumulative(assessment: Assessment, own: CensoredColumn, *, first: bool) -> Panel:
    ordered = np.sort(own.reached)
    share = np.arange(1, len(ordered) + 1) / len(own)
    line = Curve("samples", ordered, share, stepped=True, colour=BLUE, listed=first)
    return _marked(assessment, own, line, 1.0, "share", first)


def _marked(
    assessment: Assessment,
    own: CensoredColumn,
    line: Curve,
    top: float,
    label: str,
    first: bool,
) -> Panel:
    """A distribution with its demand and those quantiles that are known."""
    place, lines = own.place, [line]
    if place.role != "watch":
        lines.append(_upright("demand", place.demand, top, RED, first))
    for n, level in enumerate(assessment.levels):
        x = own.quantile(level).value
        name = "quantiles " + ", ".join(f"{v:g}" for v in assessment.levels)
        if x is not None:
            lines.append(_upright(name, x, top, GREY, first and n == 0))
    name = name_with_unit(place.label, place.criterion.unit)
    if own.open:
        name += f", {place.open_word} in {own.open} of {len(own)}"
    return Panel(label, tuple(lines), group=name, across=Across(""))


def _upright(name: str, x: float, top: float, colour: int, listed: bool) -> Curve:
    ends = np.array([0.0, top])
    return Curve(name, np.array([x, x]), ends, dashed=True, colour=colour, listed=listed)


# --- sensitivities --------------------------------------------------------------------------------


def sensitivity_bars(assessment: Assessment) -> Bars:
    """Sobol's total indices or Morris' μ*, with their intervals."""
    own = assessment.sensitivity
    if own is None:
        raise DesignError(
            "O076", "there are no indices; use montecarlo with sensitivity = 'sobol' or 'morris'"
        )
    main = own.main
    groups = []
    for k, label in enumerate(own.labels):
        halves = main.half[k] if main.half is not None else np.zeros(len(own.names))
        others = [i for i in own.indices if i is not main]
        remarks = [", ".join(f"{i.name} {i.value[k, j]:.3g}" for i in others)
                for j in range(len(own.names))]  # fmt: skip
        sure = 0.05 if own.kind == "sobol" else 0.0
        bars = [
            Bar(name, value, about, strong=value - half > sure, margin=half)
            for name, value, half, about in zip(
                own.names, _plain(main.value[k]), _plain(halves), remarks, strict=True
            )
        ]
        if own.too_few(k):
            continue
        groups.append((label, tuple(sorted(bars, key=lambda b: -b.value))))
    title = {"sobol": "Sobol's total indices", "morris": "Morris' screening"}[own.kind]
    return Bars(tuple(groups), main.name, title)


def local_bars(assessment: Assessment) -> Bars:
    """Relative derivatives: per cent of the criterion for one per cent of the parameter."""
    own = assessment.local
    if own is None:
        raise DesignError("O077", "there are no local sensitivities: the centre was not simulated")
    groups = []
    for k, label in enumerate(own.labels):
        if np.isnan(own.values[k]):
            continue  # not reached at the centre
        values = _plain(own.relative[k])
        largest = max(map(abs, values), default=0.0)
        bars = [
            Bar(n, v, f"derivative {d:.4g}", strong=abs(v) == largest > 0)
            for n, v, d in zip(own.names, values, own.derivatives[k], strict=True)
        ]
        groups.append((label, tuple(sorted(bars, key=lambda b: -abs(b.value)))))
    return Bars(tuple(groups), "% of the criterion for 1 % of the parameter", "At the centre")


def _plain(values: Vector) -> list[float]:
    plain: list[float] = np.nan_to_num(values).tolist()
    return plain
