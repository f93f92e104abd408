"""Weighting: at which frequencies the errors of a fit count, |L|²|U|²."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from estimica.base import view
from estimica.base.arrays import Vector
from estimica.base.errors import FitError
from estimica.base.result import DONE, Outcome, Result, plain_object
from estimica.base.text import percent, short
from estimica.estimate.criteria.block import Block
from estimica.estimate.criteria.prefilter import ErrorFilter
from estimica.estimate.fit.result import Fit
from estimica.estimate.setup import prepare
from estimica.study.record.samples import Record
from estimica.study.study import Study

BINS = 150  # of the drawn spectra, even on a logarithmic axis
DEEP = 1e-6  # the smallest drawn share of a weighting


@dataclass(frozen=True, eq=False)
class OutputWeighting:
    """The prefilter of one output and what it makes of the power of the inputs."""

    case: str
    output: str
    filter: str
    frequency: Vector  # Hz
    gain: Vector  # |L|
    inputs: Mapping[str, Vector]  # |U|² of each, summed over the lines of a bin
    lines: Vector  # of the spectrum in each bin
    samples: int
    counted: float  # samples by what passes of white noise

    def weighting(self, name: str) -> Vector:
        """|L|²|U|² of an input."""
        found: Vector = self.gain**2 * self.inputs[name]
        return found

    def share(self, name: str) -> float:
        """Share of the input's power, its mean left out, that counts."""
        total = float(np.sum(self.inputs[name]))
        return float(np.sum(self.weighting(name))) / total if total > 0 else np.nan


@dataclass(frozen=True, eq=False, repr=False)
class Weighting(Result):
    """All prefilters of a study with the frequency weighting that results."""

    presenter = "estimica.estimate.fit.weighting"

    study: str  # what the study is called
    outputs: tuple[OutputWeighting, ...]  # the weighting of each output
    outcome: Outcome = DONE  # how it ended, and why

    def curves(self) -> view.Curves:
        """Gains and weightings over the frequency."""
        return picture(self)


def tables(weighting: Weighting) -> tuple[view.Table]:
    """Each filter with what it lets through."""
    rows = []
    for o in weighting.outputs:
        shares = ", ".join(f"{n} {percent(100 * o.share(n))} %" for n in o.inputs)
        rows.append((o.case, o.output, o.filter, o.samples, short(o.counted), shares))
    columns = ("case", "output", "prefilter", "samples", "white noise as of", "input power")
    note = (
        "Behind the filter white noise has the energy of so many samples; of the input's "
        "changes this share of the power counts."
    )
    return (view.Table(columns, tuple(rows), f"{weighting.study}: prefilters", note),)


def picture(weighting: Weighting, kind: str = "", names: Sequence[str] = ()) -> view.Curves:
    """Gains and weightings over the frequency; there is one picture."""
    title = f"{weighting.study}: prefilters"
    return view.Curves(tuple(_panels(weighting)), title, "frequency [Hz]", log_time=True)


def as_object(weighting: Weighting) -> dict[str, object]:
    """Gains and weightings over the frequency as plain values."""
    outputs = [
        {
            "case": o.case,
            "output": o.output,
            "filter": o.filter,
            "samples": o.samples,
            "counted": o.counted,
            "frequency": o.frequency,
            "gain": o.gain,
            "weighting": {name: o.weighting(name) for name in o.inputs},
            "share": {name: o.share(name) for name in o.inputs},
        }
        for o in weighting.outputs
    ]
    return plain_object({"study": weighting.study, "outputs": outputs})


def page(weighting: Weighting) -> view.Page:
    """All of it as a page."""
    section = view.Section("Prefilters", WORDS, (*tables(weighting), picture(weighting)))
    return view.Page(f"Prefilters: {weighting.study}", (section,))


def _panels(weighting: Weighting) -> Iterator[view.Panel]:
    for o in weighting.outputs:
        group = f"{o.case}: {o.output}"
        gain = view.Curve("|L|", o.frequency, _drawn(o.gain, DEEP**0.5), colour=0)
        yield view.Panel("|L|", (gain,), log=True, group=group)
        for name, power in o.inputs.items():
            peak = float((power / o.lines).max()) or 1.0
            drawn = {"|U|²": (power, 5), "|L|²|U|²": (o.weighting(name), 1)}
            curves = tuple(
                view.Curve(label, o.frequency, _drawn(p / o.lines / peak, DEEP), colour=colour)
                for label, (p, colour) in drawn.items()
            )
            yield view.Panel(f"power of {name}", curves, log=True, group=group)


WORDS = (
    "The error of a filtered output counts by |L|²|U|²: by the power of the input at a frequency "
    "times the squared gain of the filter, which is scaled to a peak of one. Standard errors take "
    "the noise as white before the filter."
)


def _drawn(value: Vector, least: float) -> Vector:
    """What is worth drawing: a curve ends where it falls below `least`."""
    return np.where(value >= least, value, np.nan)


def prefilter_weighting(given: Fit | Study) -> Weighting:
    """At which frequencies the errors of a study's filtered outputs count."""
    setup = given.setup if isinstance(given, Fit) else prepare(given)
    name = given.study.name if isinstance(given, Fit) else given.name
    objective = setup.calibration()
    curves = []
    for predictor in objective.predictors:
        record = predictor.record
        for block in objective.blocks:
            if block.case == record.case.name and block.filter is not None:
                curves.append(_output(block, block.filter, record))
    if not curves:
        raise FitError(
            "F104", f"study '{name}' has no prefilter; give a case one to see its effect"
        )
    return Weighting(name, tuple(curves))


def _output(block: Block, filter_: ErrorFilter, record: Record) -> OutputWeighting:
    time = np.arange(block.measured.time[0], block.measured.time[-1], filter_.step)
    varying = {n: s.at(time) for n, s in record.inputs.items() if len(np.unique(s.value)) > 1}
    f = np.fft.rfftfreq(len(time), filter_.step)[1:]
    edges = np.geomspace(f[0], f[-1] * (1 + 1e-9), BINS + 1)
    which = np.searchsorted(edges, f, side="right") - 1
    place = np.unique(which, return_inverse=True)[1]
    count = np.bincount(place)
    centres = np.bincount(place, f) / count
    inputs = {
        n: np.bincount(place, np.abs(np.fft.rfft(u - u.mean())[1:]) ** 2) / len(u)
        for n, u in varying.items()
    }
    return OutputWeighting(
        block.case,
        block.name,
        filter_.text,
        centres,
        np.abs(filter_.gain(centres)),
        inputs,
        count.astype(np.float64),
        len(block.measured.time),
        block.count,
    )
