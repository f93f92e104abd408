"""Pictures of a residual analysis, as curves that `report` draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import ndtri

from estimica.base.errors import InferError
from estimica.base.suggest import did_you_mean
from estimica.base.view import Across, Band, Curve, Curves, Panel, name_with_unit
from estimica.infer.residuals.output import OutputResiduals
from estimica.infer.residuals.run import ResidualAnalysis

HEIGHT = 220
GAUSSIAN = 7  # of the palette


def picture(analysis: ResidualAnalysis, kind: str) -> Curves:
    """The curves of one kind."""
    if kind not in KINDS:
        raise InferError(
            "I303", f"there is no plot '{kind}'{did_you_mean(kind, KINDS)} ({', '.join(KINDS)})"
        )
    panels, label = KINDS[kind](analysis)
    title = f"{analysis.fit.study.name}: {kind} of the residuals"
    if kind == "residuals":
        title = f"{analysis.fit.study.name}: residuals"
    return Curves(tuple(panels), title, label, HEIGHT)


def _autocorrelation(analysis: ResidualAnalysis) -> tuple[list[Panel], str]:
    panels: list[Panel] = []
    for one in analysis.outputs:
        acf = one.autocorrelation
        curve = Curve("autocorrelation", acf.time, acf.value, marked=len(acf.time) <= 200)
        width = float(acf.band[0]) if len(acf.band) else 0.0
        band = Band("" if panels else "95 % of white noise", -width, width)
        panels.append(Panel(f"r of {one.name}", (curve,), (band,), group=_group(analysis, one)))
    return panels, _lag_label(analysis)


def _crosscorrelation(analysis: ResidualAnalysis) -> tuple[list[Panel], str]:
    panels: list[Panel] = []
    for one in analysis.outputs:
        for cross in one.crosscorrelations:
            how = "both whitened" if cross.whitened else "not whitened"
            curve = Curve(cross.input, cross.time, cross.value, description=how, marked=True)
            band = Band("" if panels else "95 % of white noise", -cross.band, cross.band)
            label = f"{one.name} after {cross.input}"
            panels.append(Panel(label, (curve,), (band,), group=_group(analysis, one)))
    if not panels:
        raise InferError("I304", "no input varies, so there is no cross-correlation to draw")
    return panels, "time after the input [s]"


def _histogram(analysis: ResidualAnalysis) -> tuple[list[Panel], str]:
    panels: list[Panel] = []
    for one in analysis.outputs:
        z = one.series.studentised
        bins = int(np.clip(2 * len(z) ** (1 / 2), 8, 60))
        density, edges = np.histogram(z, bins=bins, density=True)
        x = np.concatenate([edges[:1], edges])
        y = np.concatenate([[0.0], density, [0.0]])
        grid = np.linspace(min(-4.0, float(edges[0])), max(4.0, float(edges[-1])), 200)
        bell = np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi)
        curves = (
            Curve("residuals", x, y, stepped=True, listed=not panels),
            Curve("Gaussian", grid, bell, dashed=True, colour=GAUSSIAN, listed=not panels),
        )
        panels.append(Panel(f"density of {one.name}", curves, group=_group(analysis, one)))
    return panels, "residual over its standard deviation"


def _quantiles(analysis: ResidualAnalysis) -> tuple[list[Panel], str]:
    panels: list[Panel] = []
    for one in analysis.outputs:
        z = np.sort(one.series.studentised)
        q = ndtri((np.arange(1, len(z) + 1) - 0.375) / (len(z) + 0.25))
        ends = np.array([q[0], q[-1]])
        curves = (
            Curve("residuals", q, z, dotted=True, listed=not panels),
            Curve("Gaussian", ends, ends, dashed=True, colour=GAUSSIAN, listed=not panels),
        )
        panels.append(Panel(f"{one.name}, in σ", curves, group=_group(analysis, one)))
    return panels, "Gaussian quantile"


def _course(analysis: ResidualAnalysis) -> tuple[list[Panel], str]:
    panels: list[Panel] = []
    for one in analysis.outputs:
        s = one.series
        curves = [
            Curve("residual", s.x, s.residual, s.unit, dotted=True, colour=0, listed=not panels)
        ]
        if one.outliers:
            x = np.array([o.x for o in one.outliers])
            value = np.array([o.residual for o in one.outliers])
            curves.append(Curve("outlier", x, value, s.unit, dotted=True, colour=1))
        wide = 2 * float(np.sqrt(s.variance))
        band = Band("" if panels else "± 2σ", -wide, wide)
        label = name_with_unit(one.name, s.unit)
        along = Across("frequency", log=True) if s.axis == "frequency" else None
        group = _group(analysis, one)
        panels.append(Panel(label, tuple(curves), (band,), group=group, across=along))
    axis = analysis.outputs[0].series.axis if analysis.outputs else "time"
    return panels, "time [s]" if axis == "time" else axis


KINDS: dict[str, Callable[[ResidualAnalysis], tuple[list[Panel], str]]] = {
    "autocorrelation": _autocorrelation,
    "cross-correlation": _crosscorrelation,
    "histogram": _histogram,
    "qq": _quantiles,
    "residuals": _course,
}


def available_kinds(analysis: ResidualAnalysis) -> Iterator[str]:
    """Kinds that there is something to see of."""
    for kind in KINDS:
        if kind != "cross-correlation" or any(o.crosscorrelations for o in analysis.outputs):
            yield kind


def _group(analysis: ResidualAnalysis, one: OutputResiduals) -> str:
    several = len({o.case for o in analysis.outputs}) > 1
    role = " (validation)" if one.series.role == "validate" else ""
    return f"{one.case}{role}" if several else ""


def _lag_label(analysis: ResidualAnalysis) -> str:
    regular = all(o.series.spacing.regular for o in analysis.outputs)
    timed = all(o.series.axis == "time" for o in analysis.outputs)
    if not timed:
        return "lag, in points times their median distance"
    return "lag [s]" if regular else "lag [s], samples times their median distance"
