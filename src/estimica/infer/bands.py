"""Bands: how far simulated outputs are uncertain, and where further measurements would lie."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from estimica.base import view as show
from estimica.base.arrays import Vector
from estimica.base.errors import InferError
from estimica.base.result import finite
from estimica.base.suggest import did_you_mean
from estimica.base.text import listed, percent, short
from estimica.base.view import without_empty
from estimica.estimate.fit.frequency_pictures import across
from estimica.estimate.fit.outputs import CaseFit, OutputComparison
from estimica.estimate.fit.result import Fit
from estimica.estimate.page_frame import study_summary, with_reproduction
from estimica.infer.covariance.linearisation import LinearisedFit, linearise_fit
from estimica.infer.covariance.output_spread import (
    Part,
    freedoms,
    noise_of,
    parameter_spread,
    slopes_of,
    unbounded,
)
from estimica.infer.covariance.run import require_kind
from estimica.infer.refit import refuse_input_errors


@dataclass(frozen=True, eq=False)
class OutputBand:
    """One output of one case with its two bands, at its stamps."""

    case: str
    role: str
    output: str
    unit: str
    time: Vector
    measured: Vector
    simulated: Vector
    stderr: Vector  # of the simulated output, from the uncertainty of the unknowns
    noise: Vector  # standard deviation of the noise
    quantile: Vector  # by which the standard error is multiplied
    further: Vector  # the same for a further measurement
    across: show.Across | None = None  # of a frequency response

    @property
    def mean(self) -> tuple[Vector, Vector]:
        """Ends of the band in which the true output lies, at each stamp by itself."""
        wide = self.quantile * self.stderr
        return self.simulated - wide, self.simulated + wide

    @property
    def prediction(self) -> tuple[Vector, Vector]:
        """Ends of the band in which a further measurement lies, at each stamp by itself."""
        wide = self.further * np.sqrt(self.stderr**2 + self.noise**2)
        return self.simulated - wide, self.simulated + wide

    @property
    def bounded(self) -> bool:
        """Whether the data bound the output at every stamp."""
        return bool(np.isfinite(self.stderr).all())

    @property
    def inside(self) -> float:
        """The share of the measurements within the prediction band."""
        low, high = self.prediction
        return float(np.mean((self.measured >= low) & (self.measured <= high)))


@dataclass(frozen=True, eq=False)
class Bands:
    """Bands around every simulated output."""

    fit: Fit = field(repr=False)
    kind: str
    level: float
    outputs: tuple[OutputBand, ...]

    def output(self, name: str, case: str | None = None) -> OutputBand:
        """One output, of one case where several have it."""
        for one in self.outputs:
            if one.output == name and case in (None, one.case):
                return one
        names = list(dict.fromkeys(o.output for o in self.outputs))
        where = f" in case '{case}'" if case else ""
        raise InferError("I321", f"there is no output '{name}'{where}{did_you_mean(name, names)}")

    def table(self) -> show.Table:
        """A row for each output: how wide its bands are, and what lies within."""
        rows = tuple(
            (
                o.case + (" (validation)" if o.role == "validate" else ""),
                o.output,
                short(float(o.stderr.max())) if o.bounded else None,
                short(float(np.sqrt(np.mean(o.noise**2)))),
                percent(100 * o.inside),
                "" if o.unit == "1" else o.unit,
                "" if o.bounded else self._open(),
            )
            for o in self.outputs
        )
        columns = ("case", "output", "largest std. error", "noise", "% inside", "unit", "remark")
        note = (
            f"std. error: of the simulated output, {self.kind} covariance; % inside: measurements "
            f"within the {show.percent_text(self.level)} prediction band"
        )
        title = f"{self.fit.study.name}: bands of the outputs"
        return without_empty(show.Table(columns, rows, title, note), "remark")

    def _open(self) -> str:
        known = self.fit.accuracy.identifiable
        items = zip(self.fit.unknowns.items, known, strict=True)
        lost = listed([f"'{u.label}'" for u, sure in items if not sure])
        return f"not bounded: it moves with {lost}, which the data do not determine"

    def curves(self) -> show.Curves:
        """Measured and simulated outputs with both bands."""
        several = len({o.case for o in self.outputs}) > 1
        panels: list[show.Panel] = []
        for o in self.outputs:
            first = not panels
            ribbons = (
                show.Ribbon(
                    f"{show.percent_text(self.level)} of measurements",
                    o.time,
                    *_drawable(o.prediction),
                    listed=first,
                ),
                show.Ribbon(
                    f"{show.percent_text(self.level)} band of the output",
                    o.time,
                    *_drawable(o.mean),
                    1,
                    0.45,
                    listed=first,
                ),
            )
            curves = (
                show.Curve(
                    "measured", o.time, o.measured, o.unit, dotted=True, colour=7, listed=first
                ),
                show.Curve("simulated", o.time, o.simulated, o.unit, colour=1, listed=first),
            )
            group = o.case if several else ""
            label = show.name_with_unit(o.output, o.unit)
            if not o.bounded:
                group = f"{group}: {o.output} {self._open()}".removeprefix(": ")
            panels.append(show.Panel(label, curves, group=group, ribbons=ribbons, across=o.across))
        title = f"{self.fit.study.name}: outputs and how far they are certain"
        label = "time [s]" if self.fit.study.model.has_time else "point"
        return show.Curves(tuple(panels), title, label, 240)

    def plot(self) -> Any:
        """A Plotly figure of the outputs with both bands."""
        return show.figure(self.curves())

    def page(self) -> show.Page:
        """All of it as a page, for files, the store and the workbench."""
        shown = (replace(self.table(), title=""), replace(self.curves(), title=""))
        section = show.Section("Bands of the outputs", _TEXT, shown)
        told = show.Page(f"Bands: {self.fit.study.name}", (section,))
        study = self.fit.study
        return with_reproduction(told, "bands", study, first=(study_summary(study, "bands"),))

    def report(self, path: str | PathLike[str]) -> Path:
        """Write a self-contained HTML page."""
        return show.write(self.page(), path)

    def to_dict(self) -> dict[str, object]:
        """The bands as plain values; what is not finite is None."""
        found = {
            "study": self.fit.study.name,
            "kind": self.kind,
            "level": self.level,
            "outputs": [
                {
                    "case": o.case,
                    "output": o.output,
                    "time": o.time.tolist(),
                    "simulated": o.simulated.tolist(),
                    "stderr": o.stderr.tolist(),
                    "mean": [end.tolist() for end in o.mean],
                    "prediction": [end.tolist() for end in o.prediction],
                    "inside": o.inside,
                    "bounded": o.bounded,
                }
                for o in self.outputs
            ],
        }
        plain = finite(found)
        assert isinstance(plain, dict)
        return plain

    def _repr_html_(self) -> str:
        return show.html(self.table())

    def __repr__(self) -> str:
        return show.text(self.table())


def _drawable(ends: tuple[Vector, Vector]) -> tuple[Vector, Vector]:
    low, high = (np.where(np.isfinite(end), end, np.nan) for end in ends)
    return low, high


_TEXT = (
    "The inner band holds the true output, the outer one a further measurement, at each stamp by "
    "itself, if the model is right. The inner one comes from the uncertainty of the unknowns to "
    "first order, the outer one has the noise in addition."
)


def bands(fit: Fit, *, kind: str = "model", level: float = 0.95) -> Bands:
    """Confidence and prediction bands of all outputs, by the delta method.

    `kind` is the covariance of the unknowns that is used: "model", "pooled", "sandwich" or
    "hac".
    """
    require_kind(kind)
    if not 0 < level < 1:
        raise InferError("I320", f"level {level:g} is not a chance between 0 and 1; use 0.95")
    refuse_input_errors(fit.study, "bands", "leave the sigma of the input out")
    around = linearise_fit(fit)
    if around.freedom <= 0:
        raise InferError(
            "I323", "there are no more samples than unknowns, so no bands either; add data"
        )
    spread = parameter_spread(fit, around, kind)
    found: list[OutputBand] = []
    for case, output, parts, variance in _variances(fit, around, spread):
        noise = noise_of(fit, case, output, around)
        stderr = np.sqrt(np.maximum(variance, 0.0))
        degrees = freedoms(around, output, parts, noise, kind)
        quantile, further = (_quantile(v, level) for v in degrees)
        if output.transfer is not None:
            found += _parts(fit, case, output, (stderr, noise, quantile, further))
            continue
        found.append(
            OutputBand(
                case.name,
                case.role,
                output.name,
                fit.unit_of(output),
                output.time,
                output.measured,
                output.simulated,
                stderr,
                noise,
                quantile,
                further,
            )
        )
    return Bands(fit, kind, level, tuple(found))


def _quantile(degrees: Vector, level: float) -> Vector:
    """Of t with so many degrees of freedom, of the normal distribution where they are infinite."""
    from scipy.special import ndtri, stdtrit

    known = np.isinf(degrees) | (degrees <= 0)  # what has no variance has no width either
    tail = (1 + level) / 2
    found: Vector = np.where(known, ndtri(tail), stdtrit(np.where(known, 1.0, degrees), tail))
    return found


def _parts(
    fit: Fit, case: CaseFit, output: OutputComparison, errors: tuple[Vector, Vector, Vector, Vector]
) -> Iterator[OutputBand]:
    """Real and imaginary part of a frequency response, with standard error and noise of each."""
    transfer = output.transfer
    assert transfer is not None
    for k, part in enumerate(("Re", "Im")):
        every = (output.measured, output.simulated, *errors[:2])
        measured, simulated, stderr, noise = (v[k::2] / transfer.amplitude for v in every)
        yield OutputBand(
            case.name,
            case.role,
            f"{part} {output.name}",
            fit.unit_of(output),
            transfer.frequency,
            measured,
            simulated,
            stderr,
            noise,
            errors[2][k::2],
            errors[3][k::2],
            across(transfer),
        )


def _variances(
    fit: Fit, around: LinearisedFit, spread: Vector
) -> Iterator[tuple[CaseFit, OutputComparison, list[Part], Vector]]:
    """Parts and variance of every simulated output; infinite where the data leave it open."""
    for case in fit.cases:
        if case.outputs:
            for output, parts in zip(
                case.outputs, slopes_of(fit, case, around, spread), strict=True
            ):
                variance = sum(np.einsum("ij,jk,ik->i", s, v, s) for s, v in parts)
                free = case.role == "validate" and unbounded(fit, around, parts)
                yield case, output, parts, np.where(free, np.inf, variance)
