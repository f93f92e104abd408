"""OutputResiduals: all tests of the residuals of one output in one case."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from estimica.base.errors import InferError
from estimica.base.probability.functions import ndtri
from estimica.base.suggest import did_you_mean
from estimica.infer.residuals import hypothesis_tests as tests
from estimica.infer.residuals.correlation import (
    Autocorrelation,
    CrossCorrelation,
    autocorrelation,
    crosscorrelations,
)
from estimica.infer.residuals.hypothesis_tests import (
    Test,
    TwoLevels,
    lack_of_fit,
    moments,
    two_levels,
)
from estimica.infer.residuals.series import Series

#: independent ones, below which coloured residuals are not asked for shape: as many as the test of
#: a constant spread needs (3 LEAST)
COLOURED_SAMPLES = 24


@dataclass(frozen=True, eq=False)
class Outlier:
    """A sample far from the others: its place, and its distance in robust standard deviations."""

    x: float
    residual: float
    z: float


@dataclass(frozen=True, eq=False)
class OutputResiduals:
    """What the residuals of one output in one case look like; `level` is that of each test."""

    series: Series = field(repr=False)
    autocorrelation: Autocorrelation = field(repr=False)
    tests: tuple[Test, ...]
    level: float

    @property
    def name(self) -> str:
        """The output."""
        return self.series.output

    @property
    def case(self) -> str:
        """The case."""
        return self.series.case

    @property
    def n(self) -> int:
        """Samples."""
        return self.series.n

    def test(self, name: str) -> Test:
        """One test by its name."""
        for one in self.tests:
            if one.name == name:
                return one
        known = [one.name for one in self.tests]
        hint = did_you_mean(name, known) or f" (there are {', '.join(known)})"
        raise InferError("I309", f"there is no test '{name}' of '{self.name}'{hint}")

    def fails(self, name: str) -> bool:
        """Whether a test rejects."""
        return self.test(name).fails(self.level)

    @property
    def lacks_fit(self) -> bool:
        """Whether the means of replicates are farther from the model than replicates scatter."""
        return any(t.name == tests.LACK_OF_FIT and t.fails(self.level) for t in self.tests)

    @property
    def coloured(self) -> bool:
        """Whether residuals depend on those before them."""
        return self.fails(tests.COLOUR) or self.fails(tests.RUNS)

    @property
    def clean(self) -> bool:
        """Whether nothing tells them from white Gaussian noise."""
        return not any(one.fails(self.level) for one in self.tests)

    @property
    def judged(self) -> bool:
        """Whether there was anything to test: enough samples, and noise in them."""
        return any(not math.isnan(one.p) for one in self.tests)

    @property
    def inflation(self) -> float:
        """How many samples are worth one independent one."""
        return self.autocorrelation.inflation if self.coloured else 1.0

    @property
    def effective(self) -> float:
        """Independent samples that would tell as much of a slow effect."""
        return self.n / self.inflation

    @property
    def moments(self) -> tuple[float, float]:
        """(skewness, excess kurtosis)."""
        return moments(self.series.studentised)

    @cached_property
    def levels(self) -> TwoLevels | None:
        """The two levels that residuals take, where they are not Gaussian and do."""
        return two_levels(self.series.residual) if self.fails(tests.NORMAL) else None

    @cached_property
    def crosscorrelations(self) -> tuple[CrossCorrelation, ...]:
        """Correlation with each input that varies."""
        return crosscorrelations(self.series)

    @cached_property
    def guilty_inputs(self) -> tuple[str, ...]:
        """Inputs that residuals still contain, the clearest first."""
        if not self.fails(tests.INPUTS):
            return ()
        each = {
            n: tests.inputs_test(self.series, [n], self.inflation).p for n in self.series.inputs
        }
        order = sorted(each, key=lambda n: (math.isnan(each[n]), each[n]))
        return tuple(n for n in order if each[n] < self.level) or tuple(order[:1])

    @cached_property
    def outliers(self) -> tuple[Outlier, ...]:
        """Samples farther out than Gaussian noise goes, by median and median deviation."""
        if not self.fails(tests.OUTLIERS):
            return ()
        e = self.series.studentised
        off = e - np.median(e)
        # 1.4826 = 1/Φ⁻¹(3/4), from a median deviation to a standard deviation
        z = off / (1.4826 * float(np.median(np.abs(off))) or 1.0)
        z = tests.spikes(e) if self.coloured else z
        far = np.abs(z) > float(ndtri(1 - self.level / (2 * self.n)))
        far[np.argmax(np.abs(z))] = True
        s = self.series
        return tuple(
            Outlier(float(s.x[k]), float(s.residual[k]), float(z[k])) for k in np.flatnonzero(far)
        )


def run_tests(series: Series) -> tuple[Autocorrelation, tuple[Test, ...]]:
    """All tests, as if residuals were white."""
    acf = autocorrelation(series.residual, series.spacing, series.jacobian, series.metric)
    if series.exact:
        why = "zero within the accuracy of the simulation"
        return acf, tuple(Test(name, math.nan, math.nan, why) for name in tests.ALL)
    colour = Test(tests.COLOUR, acf.statistic, acf.p, f"{acf.tested} lags")
    if series.n < tests.LEAST or series.variance == 0:
        colour = Test(tests.COLOUR, math.nan, math.nan, "too few samples")
    z = series.studentised
    results = (
        tests.level_and_trend(series),
        colour,
        tests.runs(series),
        tests.inputs_test(series, list(series.inputs)),
        tests.normality(z),
        tests.constant_spread(z, series.x, series.simulated),
        tests.outliers(z),
    )
    lacking = lack_of_fit(series)
    return acf, results if lacking is None else (*results, lacking)


def output_verdict(
    series: Series, acf: Autocorrelation, tests_of_output: tuple[Test, ...], level: float
) -> OutputResiduals:
    """The tests at a level, for coloured residuals with as many samples as they are worth."""
    first = OutputResiduals(series, acf, tests_of_output, level)
    if not first.coloured:
        return first
    inflation = max(acf.inflation, 1.0)
    every = max(1, math.ceil(inflation))
    z, x, y = (v[::every] for v in (series.studentised, series.x, series.simulated))
    few = len(z) < COLOURED_SAMPLES
    unknown = "too few independent samples"
    again = {
        tests.LEVEL: tests.level_and_trend(series, inflation),
        tests.INPUTS: _coloured_inputs(series, first.crosscorrelations, inflation),
        tests.NORMAL: Test(tests.NORMAL, math.nan, math.nan, unknown)
        if few
        else tests.normality(z),
        tests.SPREAD: Test(tests.SPREAD, math.nan, math.nan, unknown)
        if few
        else tests.constant_spread(z, x, y),
        tests.OUTLIERS: tests.coloured_outliers(series.studentised),
    }
    return OutputResiduals(series, acf, tuple(again.get(t.name, t) for t in tests_of_output), level)


def _coloured_inputs(
    series: Series, crossed: tuple[CrossCorrelation, ...], inflation: float
) -> Test:
    """Whether coloured residuals follow an input: its whitened steps do not care for colour."""
    if not _whitened(crossed):
        return tests.inputs_test(series, list(series.inputs), inflation)
    p = min(1.0, len(crossed) * min(c.p for c in crossed))
    return Test(tests.INPUTS, max(c.highest for c in crossed), p, "inputs whitened")


def _whitened(crossed: tuple[CrossCorrelation, ...]) -> bool:
    return bool(crossed) and all(c.whitened for c in crossed)
