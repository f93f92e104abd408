"""frequency_estimate: the frequency response that a record over time shows, and how surely."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from estimica.base.arrays import Complex, Vector
from estimica.base.errors import ExperimentError
from estimica.base.result import Outcome, Result
from estimica.base.suggest import did_you_mean
from estimica.data.readers import as_data
from estimica.data.writers import write_csv

if TYPE_CHECKING:
    import pandas as pd

    from estimica.study.case import Case

Method = Literal["multisine", "welch"]
Hold = Literal["previous", "linear", "none"]
METHODS = ("multisine", "welch")
HOLDS = ("previous", "linear", "none")
#: relative scatter of the sampling steps that is still even. Chosen: the phase is off by as much of
#: half a turn at most, and stamps are written with few digits
EVEN = 1e-4


@dataclass(frozen=True, eq=False, repr=False)
class FrequencyEstimate(Result):
    """G(jω) at the frequencies that the input excites.

    `stderr` is the standard deviation of the real and of the imaginary part each, `freedom` the
    degrees of freedom that it was estimated with.
    """

    presenter = "estimica.experiment.frequency.present"

    input: str  # name of the input
    output: str  # name of the output
    method: str  # how it was computed
    frequency: Vector  # Hz
    G: Complex  # the response
    stderr: Vector  # of the real and of the imaginary part
    coherence: Vector  # share of the output's power that the input explains
    freedom: float  # degrees of freedom of `stderr`
    averages: float  # periods, or independent segments
    text: str  # how it was made
    unit: str = ""  # of the response
    source: str = ""  # where the record came from

    @property
    def omega(self) -> Vector:
        """Angular frequencies in rad/s."""
        omega: Vector = 2 * np.pi * self.frequency
        return omega

    @property
    def interval(self) -> Vector:
        """Half the width of the 95 % interval of the real and of the imaginary part."""
        from estimica.base.probability.functions import stdtrit

        width: Vector = self.stderr * float(stdtrit(self.freedom, 0.975))
        return width

    def to_frame(self) -> pd.DataFrame:
        """The same as `frame`, by the name that it has in other results."""
        return self.frame()

    def frame(self) -> pd.DataFrame:
        """Columns f (Hz), Re, Im, sigma and coherence: the data of a frequency case."""
        import pandas as pd

        return pd.DataFrame(
            {
                "f": self.frequency,
                "Re": self.G.real,
                "Im": self.G.imag,
                "sigma": self.stderr,
                "coherence": self.coherence,
            }
        )

    def case(
        self,
        name: str = "frequency response",
        *,
        output: str | None = None,
        input: str | None = None,
        inputs: Mapping[str, float] | None = None,
        operating_point: Literal["steady", "start"] | None = None,
    ) -> Case:
        """A frequency case of a study, each frequency weighed by its uncertainty.

        `output` and `input` are the model's names where the columns have others; `inputs` the
        operating point.
        """
        from estimica.study.case import Case

        column = {"real": "Re", "imag": "Im", "sigma": "sigma", "input": input or self.input}
        return Case(
            name,
            self.frame(),
            inputs=dict(inputs or {}),
            outputs={output or self.output: column},  # type: ignore[dict-item]
            frequency="f",
            operating_point=operating_point,
        )

    @property
    def outcome(self) -> Outcome:
        """How it went: a record that shows nothing is an error."""
        return Outcome("done", self.text)

    def to_csv(self, path: str | PathLike[str]) -> Path:
        """Write the data of a frequency case."""
        frame = self.frame()
        return write_csv(path, {str(n): frame[n].to_numpy() for n in frame})


def frequency_estimate(
    data: Any,
    *,
    input: str,
    output: str,
    method: Method = "multisine",
    time: str | None = None,
    period: float | None = None,
    settle: float | None = None,
    segment: float | None = None,
    hold: Hold = "previous",
) -> FrequencyEstimate:
    """The frequency response from `input` to `output` that an evenly sampled record shows.

    "multisine" takes whole periods of a periodic input (`period` in seconds, found where it is not
    given) after `settle` seconds (by default one period where there are three or more), without
    leakage; the uncertainty comes from the scatter from period to period. "welch" averages
    overlapping stretches of `segment` seconds (by default an eighth of the record); its uncertainty
    comes from the coherence. `hold` is what the input did between its samples; "none" gives the
    ratio of the sampled signals itself.
    """
    _require("method", method, METHODS)
    _require("hold", hold, HOLDS)
    table = as_data(data)
    stamps = table.column(table.time_name(time))
    step = _step(stamps)
    u, y = table.column(input), table.column(output)
    if settle is not None and not 0 <= settle < len(u) * step:
        raise ExperimentError(
            "W092", f"settle {settle:g} s must lie within the {len(u) * step:g} s of the record"
        )
    if method == "multisine":
        from estimica.experiment.frequency.spectra import spectra_over_periods

        _without(segment, "segment", "welch")
        spectra = spectra_over_periods(
            _sampled(input, u), _sampled(output, y), step, period, settle
        )
    else:
        from estimica.experiment.frequency.spectra import spectra_by_welch

        _without(period, "period", "multisine")
        spectra = spectra_by_welch(u, y, step, settle, segment)
    held = _held(spectra.frequency * step, hold)
    unit = _ratio(table.units.get(output, ""), table.units.get(input, ""))
    return FrequencyEstimate(
        input,
        output,
        method,
        spectra.frequency,
        spectra.G / held,
        spectra.stderr / np.abs(held),
        spectra.coherence,
        spectra.freedom,
        spectra.averages,
        spectra.text,
        unit,
        table.source,
    )


def _held(cycles: Vector, hold: str) -> Complex:
    """Spectrum of the held input over that of its samples, at `cycles` per sample."""
    if hold == "previous":
        return np.asarray(np.sinc(cycles) * np.exp(-1j * np.pi * cycles))
    return (np.sinc(cycles) ** 2 if hold == "linear" else np.ones(len(cycles))).astype(complex)


def _step(time: Vector) -> float:
    if len(time) < 8:
        raise ExperimentError("W050", f"{len(time)} samples are too few for a frequency response")
    steps = np.diff(time)
    step = float(time[-1] - time[0]) / (len(time) - 1)
    worst = float(np.abs(steps - step).max())
    if not step > 0 or worst > EVEN * step + 1e-9 * abs(float(time[-1])):
        raise ExperimentError(
            "W051",
            f"the samples are not even: steps from {steps.min():g} to {steps.max():g} s; a "
            "frequency response needs one step throughout, so interpolate, or fit over time",
        )
    return step


def _sampled(name: str, values: Vector) -> Vector:
    missing = int((~np.isfinite(values)).sum())
    if missing:
        raise ExperimentError(
            "W052",
            f"'{name}' has no value in {missing} rows, and whole periods have no gaps; use "
            "method 'welch', which leaves such stretches out",
        )
    return values


def _require(what: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        hint = did_you_mean(given, known)
        raise ExperimentError("W053", f"{what} '{given}' is none of {', '.join(known)}{hint}")


def _without(given: float | None, key: str, method: str) -> None:
    if given is not None:
        raise ExperimentError("W054", f"{key} belongs to method '{method}'; leave it out")


def _ratio(above: str, below: str) -> str:
    if not above and not below:
        return ""
    return f"{above or '1'}/{below}" if below else above
