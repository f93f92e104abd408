"""ResidualAnalysis: what is left of the data says of the model that was fitted to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from estimica.base.errors import InferError
from estimica.base.result import Outcome, Result
from estimica.base.suggest import did_you_mean
from estimica.estimate.fit.result import Fit
from estimica.infer.residuals.output import OutputResiduals
from estimica.infer.residuals.verdict import errors_in_words, overall, verdict


@dataclass(frozen=True, eq=False, repr=False)
class ResidualAnalysis(Result):
    """Tests, correlations and a verdict for every output of every case."""

    presenter = "estimica.infer.residuals.present"
    main_kind = "autocorrelation"

    fit: Fit  # the fit that it is about
    level: float  # chance of any complaint about white Gaussian residuals
    outputs: tuple[OutputResiduals, ...]  # tests and correlations of each output of each case
    #: of each unknown: its standard error for coloured residuals over the plain one
    stderr_factors: Mapping[str, float]
    run: str = ""  # its number in the run store

    def __getitem__(self, name: str) -> OutputResiduals:
        """The first output of that name; `output` finds the one of a case."""
        return self.output(name)

    def output(self, name: str, case: str | None = None) -> OutputResiduals:
        """One output, of one case where several have it."""
        for one in self.outputs:
            if one.name == name and case in (None, one.case):
                return one
        names = list(dict.fromkeys(o.name for o in self.outputs))
        where = f" in case '{case}'" if case else ""
        raise InferError("I301", f"there is no output '{name}'{where}{did_you_mean(name, names)}")

    @property
    def clean(self) -> bool:
        """Whether no calibrating output speaks against white Gaussian noise."""
        return all(one.clean for one in self.outputs if one.series.role == "calibrate")

    @property
    def coloured(self) -> bool:
        """Whether residuals of a calibrating output remember."""
        return any(one.coloured for one in self.outputs if one.series.role == "calibrate")

    @property
    def inflation(self) -> dict[str, float]:
        """What coloured residuals do to the standard errors of the tuners, or of all unknowns."""
        tuners = {u.label for u in self.fit.unknowns.items if u.kind == "tuner"}
        return {n: f for n, f in self.stderr_factors.items() if n in tuners or not tuners}

    @cached_property
    def verdict(self) -> str:
        """What it all means, in a few sentences."""
        worth = sum(one.effective for one in self.outputs if one.series.role == "calibrate")
        return overall(self.outputs, errors_in_words(dict(self.inflation), worth))

    @cached_property
    def verdicts(self) -> dict[tuple[str, str], str]:
        """The verdict on each output, by case and name."""
        return {(one.case, one.name): verdict(one) for one in self.outputs}

    @property
    def outcome(self) -> Outcome:
        """How it ended."""
        return Outcome("done", self.verdict)

    def plot(self, kind: str = "autocorrelation", *names: str) -> Any:
        """A Plotly figure.

        `kind` is "autocorrelation", "cross-correlation" (with inputs), "histogram", "qq" (against
        Gaussian quantiles) or "residuals" (over time, outliers marked).
        """
        return super().plot(kind, *names)

    def __repr__(self) -> str:
        return f"{super().__repr__()}\n\n{self.verdict}."
