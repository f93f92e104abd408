"""ChangeCharts: two-sided CUSUM charts of mean and spread of standardised innovations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.infer.monitor.run_length import scaled, shifted, threshold_for

UP, DOWN, WIDER, NARROWER = "higher", "lower", "wider", "narrower"
KINDS = (UP, DOWN, WIDER, NARROWER)
WILD = "wild"  # several wild values in a row
LARGER, SMALLER = "larger", "smaller"  # of tuners
WORDS = {
    UP: "measured values lie above what is predicted",
    DOWN: "measured values lie below what is predicted",
    WIDER: "measured values scatter more than is predicted",
    NARROWER: "measured values scatter less than is predicted",
    WILD: "measured values are far from what is predicted",
    LARGER: "a larger value of this tuner predicts better",
    SMALLER: "a smaller value of this tuner predicts better",
}


@dataclass(frozen=True)
class Alarm:
    """A change: when it was seen, since when it is thought to be there, and in what."""

    time: float
    since: float
    name: str  # of the output, or the tuner
    kind: str
    sample: int  # the number of the sample at which it was seen

    @property
    def words(self) -> str:
        """What has changed."""
        return WORDS[self.kind]


@dataclass(frozen=True)
class ChartDesign:
    """What charts look for, and their thresholds.

    A mean that moves by `shift` standard deviations, or standard deviations that become `ratio`
    times as large or as small, are found fastest. All charts of all outputs together give one false
    alarm in `run_length` samples.
    """

    shift: float
    ratio: float
    run_length: float
    thresholds: tuple[float, ...]  # of the kinds
    change: float = 0.1  # of a tuner, relative
    tuner_threshold: float = math.inf

    @staticmethod
    def of(
        shift: float,
        ratio: float,
        run_length: float,
        outputs: int,
        tuners: int = 0,
        change: float = 0.1,
    ) -> ChartDesign:
        """Thresholds from the run length."""
        each = run_length * (len(KINDS) * outputs + 2 * tuners)
        mean = threshold_for(each, shifted(shift))
        wider, narrower = (threshold_for(each, scaled(r)) for r in (ratio, 1 / ratio))
        # sums of logarithms of likelihood ratios stay below log n for n samples at least, on
        # average, whatever is measured (Lorden, Annals of Mathematical Statistics 42, 1971)
        tuner = math.log(each)
        thresholds = (mean, mean, wider, narrower)
        return ChartDesign(shift, ratio, run_length, thresholds, change, tuner)


class ChangeCharts:
    """The charts of all outputs; their values are kept in arrays that others save."""

    def __init__(self, design: ChartDesign, outputs: Sequence[str]) -> None:
        self.design, self.outputs = design, tuple(outputs)
        self.values = np.zeros((len(outputs), len(KINDS)))
        self.since = np.full((len(outputs), len(KINDS)), np.nan)
        self._half = design.shift / 2
        self._wide = (1 - design.ratio**-2) / 2, math.log(design.ratio)
        self._narrow = (1 - design.ratio**2) / 2, -math.log(design.ratio)

    def take(self, output: int, z: float, time: float, sample: int) -> list[Alarm]:
        """Count one standardised innovation; a chart that alarms begins again."""
        square = z * z
        increments = (
            z - self._half,
            -z - self._half,
            square * self._wide[0] - self._wide[1],
            square * self._narrow[0] - self._narrow[1],
        )
        values, since = self.values[output], self.since[output]
        alarms = []
        for k, more in enumerate(increments):
            value = values[k] + more
            if value <= 0:
                values[k] = 0.0
                continue
            if values[k] == 0:
                since[k] = time
            values[k] = value
            if value > self.design.thresholds[k]:
                name = self.outputs[output]
                alarms.append(Alarm(time, float(since[k]), name, KINDS[k], sample))
        if alarms:
            self.reset(output)
        return alarms

    def reset(self, output: int) -> None:
        """Begin again."""
        self.values[output] = 0.0
        self.since[output] = np.nan

    @property
    def level(self) -> float:
        """How near the highest chart is to its threshold: 1 is an alarm."""
        return float(np.max(self.values / np.asarray(self.design.thresholds), initial=0.0))

    def loads(self) -> Vector:
        """The same for each output."""
        levels: Vector = np.max(self.values / np.asarray(self.design.thresholds), axis=1)
        return levels


class TunerCharts:
    """CUSUM charts of tuners: of the logarithms of the likelihood ratios of a tuner that has
    changed by a certain amount, to second order from the exact derivatives. Unlike a mean of
    innovations they see changes whose effect has now this sign, now that one."""

    def __init__(self, design: ChartDesign, names: Sequence[str]) -> None:
        self.design, self.names = design, tuple(names)
        self.values = np.zeros((len(names), 2))
        self.since = np.full((len(names), 2), np.nan)

    def take(
        self, score: Vector, information: Vector, amount: Vector, time: float, sample: int
    ) -> list[Alarm]:
        """Count the score and the information of one stamp; `amount` are changes looked for."""
        if not self.names:
            return []
        toward, against = amount * score, 0.5 * amount**2 * information
        values = self.values + np.column_stack([toward - against, -toward - against])
        self.since[(self.values == 0) & (values > 0)] = time
        self.values = np.maximum(values, 0.0)
        worst = int(np.argmax(self.values))
        k, side = divmod(worst, 2)
        if self.values[k, side] <= self.design.tuner_threshold:
            return []
        alarm = Alarm(
            time, float(self.since[k, side]), self.names[k], (LARGER, SMALLER)[side], sample
        )
        self.reset()
        return [alarm]

    def reset(self) -> None:
        """Begin again."""
        self.values = np.zeros_like(self.values)
        self.since = np.full_like(self.since, np.nan)

    @property
    def level(self) -> float:
        """How near the highest chart is to its threshold: 1 is an alarm."""
        return float(np.max(self.values, initial=0.0)) / self.design.tuner_threshold
