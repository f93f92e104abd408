"""Estimator: what becomes of one row, a function of the state and the row alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.errors import InferError
from estimica.base.suggest import did_you_mean
from estimica.infer.monitor.channels import Row
from estimica.infer.monitor.charts import WILD, Alarm, ChangeCharts, ChartDesign, TunerCharts
from estimica.infer.monitor.recursion import Recursion
from estimica.infer.monitor.settings import MonitorSettings
from estimica.infer.monitor.setup import MonitorSetup
from estimica.infer.monitor.state import Course, MonitorState
from estimica.infer.monitor.step import FilterPoint, Taken

#: until so many samples have come, and so many for each unknown, estimates that begin at guesses
#: are too rough for charts
SETTLE, SETTLE_EACH = 100, 20
#: forgetting at the beginning from guesses, where early samples were predicted badly: shares that
#: count begin at 1 − 0.05 and approach 1 as 0.97ⁿ (Ljung and Söderström, section 5.6)
EARLY, EARLY_RATE = 0.05, 0.97
SURELY = 4.0  # standard errors of a tuner that a change of it has at least to be looked for
MOST_FAILURES = 20  # rows in a row at which the filter may fail


@dataclass(frozen=True, eq=False)
class MonitorStep:
    """What became of one row: "taken", or why not (a name of `counts`), and the alarms it gave."""

    time: float
    status: str
    alarms: tuple[Alarm, ...] = ()


class Estimator:
    """States by the filter, tuners by the recursion, changes by the charts."""

    def __init__(self, setup: MonitorSetup, settings: MonitorSettings) -> None:
        self.setup, self.settings = setup, settings
        names = [u.name for u in setup.unknowns.items if u.kind == "tuner"]
        for name in settings.drift:
            if name not in names:
                raise InferError(
                    "I813", f"drift: '{name}' is not a tuner{did_you_mean(name, names)}"
                )
        outputs = setup.channels.output_names
        noise = setup.study.noise_names  # whose changes the charts of the spread see
        self._watched = np.array(
            [
                k
                for k, u in enumerate(setup.unknowns.items)
                if u.kind == "tuner" and u.name not in noise
            ],
            int,
        )
        design = self._design(len(self._watched))
        self.charts = ChangeCharts(design, outputs)
        self.tuner_charts = TunerCharts(
            design, [setup.unknowns.items[k].name for k in self._watched]
        )
        m, ny = len(setup.unknowns), len(outputs)
        self.recursion = Recursion(
            setup.unknowns, setup.q, setup.root, np.array(setup.frozen.widest)
        )
        self.course = Course(2 + 2 * m + ny)
        self._drift = np.array([settings.drift.get(u.name, 0.0) for u in setup.unknowns.items])
        self._settle = settings.settle
        if self._settle is None:
            self._settle = 0 if setup.frozen.is_known else SETTLE + SETTLE_EACH * m
        self.state = MonitorState(
            self.recursion.q, self.recursion.root, self.charts.values, self.charts.since,
            self.tuner_charts.values, self.tuner_charts.since,
            np.zeros(ny, int), np.full(ny, np.nan), last_z=np.full(ny, np.nan),
        )  # fmt: skip
        self._theta, self._chain = setup.constants(self.recursion.values)
        self._known_until = setup.frozen.known_until

    def begin(self) -> None:
        """Go to the end of the data that a fit has seen, where there is one."""
        if math.isfinite(self._known_until):
            self.state.point = self.setup.step.at_end(self._theta)

    def _design(self, tuners: int) -> ChartDesign:
        s, setup = self.settings, self.setup
        outputs = len(setup.channels.outputs)
        length = s.run_length(setup.interval)
        return ChartDesign.of(s.shift, s.ratio, length, outputs, tuners, s.change)

    # --- one row: a function of the state and the row alone ---------------------------------------

    def process(self, row: Row) -> MonitorStep:
        """Take in one row, or say why not."""
        state = self.state
        state.number += 1
        if row.position >= 0:
            state.position = row.position
        status, alarms = self._taken(row)
        state.counts[status] += 1
        state.alarms.extend(alarms)
        if alarms and self.settings.relearn > 1:
            self.recursion.raise_gain(self.settings.relearn)
        return MonitorStep(row.time, status, tuple(alarms))

    def _taken(self, row: Row) -> tuple[str, list[Alarm]]:
        """What became of a row."""
        state, point = self.state, self.state.point
        if not math.isfinite(row.time):
            return "unreadable", []
        if point is not None and row.time <= point.time:
            if row.time <= self._known_until:
                return "known", []
            return ("duplicate" if row.time == point.time else "late"), []
        u = row.inputs
        if np.isnan(u).any():
            if point is None:
                return "waiting", []
            u = np.where(np.isnan(u), point.u, u)
            state.counts["missing_inputs"] += 1
        given = np.isfinite(row.outputs)
        taken, given = self._filtered(row, u, given)
        if taken.trouble:
            return self._failed(taken.trouble, row.time), []
        state.failures = 0
        alarms = self._learned(taken, row, given)
        return "taken", alarms

    def _failed(self, trouble: str, time: float) -> str:
        self.state.failures += 1
        if self.state.failures > MOST_FAILURES:
            raise InferError(
                "I814",
                f"the filter has failed at {self.state.failures} rows in a row, the last at "
                f"{time:g} s: {trouble}; give tuners bounds that keep the model where it can be "
                "simulated",
            )
        return "failed"

    def _filtered(self, row: Row, u: Vector, given: Flags) -> tuple[Taken, Flags]:
        """The filter at the stamp, without wild values; and which outputs were taken in."""
        taken = self._to(row, u, given)
        if taken.trouble or self.state.counts["taken"] < self._settled:
            return taken, given
        wild = given & (np.abs(taken.innovations) > self.settings.wild * np.sqrt(taken.variances))
        state = self.state
        first = wild & (state.wild_runs == 0)
        state.wild_since[first] = row.time
        state.wild_runs[given] += 1
        state.wild_runs[given & ~wild] = 0
        left_out = wild & (state.wild_runs < self.settings.wild_run)
        if not left_out.any():
            return taken, given
        state.counts["wild"] += int(left_out.sum())
        return self._to(row, u, given & ~left_out), given & ~left_out

    @property
    def _settled(self) -> int:
        assert self._settle is not None
        return self._settle

    def _to(self, row: Row, u: Vector, given: Flags) -> Taken:
        step, point = self.setup.step, self.state.point
        if point is None:
            return step.begin(self._theta, row.time, u, np.where(given, row.outputs, np.nan))
        linear = self.setup.channels.linear
        slopes = None
        if linear.any():
            slopes = np.where(linear, (u - point.u) / (row.time - point.time), 0.0)
        return step.advance(point, self._theta, row.time, u, slopes, row.outputs, given)

    def _learned(self, taken: Taken, row: Row, given: Flags) -> list[Alarm]:
        """Charts and estimates after a stamp."""
        state, recursion = self.state, self.recursion
        before = row.time if state.point is None else state.point.time
        state.point = taken.point
        state.counts["missing"] += int(np.count_nonzero(~np.isfinite(row.outputs)))
        z = np.where(given, taken.innovations / np.sqrt(taken.variances), np.nan)
        state.last_z[:] = z
        alarms = self._changes(z, row, given)
        self._forget(row.time - before)
        if given.any():
            ny = len(given)
            by = (taken.by @ self._chain) * recursion.slopes
            chosen = np.flatnonzero(given)
            moved = recursion.take(
                taken.innovations[chosen], taken.variances[chosen],
                by[np.concatenate([chosen, ny + chosen])], self.settings.wild,
            )  # fmt: skip
            alarms += self._tuner_changes(row.time)
            self._move(taken.point, moved)
        if alarms:
            self.tuner_charts.reset()
        if self.course.is_due(state.counts["taken"]):
            values, stderr = recursion.values, recursion.stderr
            self.course.note(np.concatenate([[row.time], values, stderr, z, [self.level]]))
        return alarms

    def _forget(self, elapsed: float) -> None:
        count = self.state.counts["taken"]
        share = math.exp(-elapsed / self.settings.memory)
        if not self.setup.frozen.is_known:
            share *= 1 - EARLY * EARLY_RATE**count if count < SETTLE * 10 else 1.0
        drift = None
        if self.settings.drift:
            drift = self._drift * math.sqrt(elapsed) / self.recursion.slopes
        self.recursion.forget(share, drift)

    def _move(self, point: FilterPoint, moved: Vector) -> None:
        """Tuners have moved: the states go along, to first order."""
        if not moved.any():
            return
        before = self._theta
        self._theta, self._chain = self.setup.constants(self.recursion.values)
        n = self.setup.step.n
        point.x[:n] += point.S[:n] @ (self._theta - before)

    def _changes(self, z: Vector, row: Row, given: Flags) -> list[Alarm]:
        state, sample = self.state, self.state.counts["taken"]
        if sample < self._settled:
            return []
        alarms: list[Alarm] = []
        for k in np.flatnonzero(given):
            if state.wild_runs[k] == self.settings.wild_run:
                name, since = self.charts.outputs[k], float(state.wild_since[k])
                alarms.append(Alarm(row.time, since, name, WILD, sample))
                self.charts.reset(int(k))
            elif state.wild_runs[k] == 0:
                alarms += self.charts.take(int(k), float(z[k]), row.time, sample)
        return alarms

    def _tuner_changes(self, time: float) -> list[Alarm]:
        state, recursion, watched = self.state, self.recursion, self._watched
        sample = state.counts["taken"]
        if sample < self._settled or state.wild_runs.any() or not len(watched):
            return []
        items = recursion.unknowns.items
        change = self.settings.change
        wished = np.array(
            [math.log1p(change) if items[k].log else change * abs(recursion.q[k]) for k in watched]
        )
        # what is not known better than that cannot be seen to change by it
        amount = np.maximum(wished, SURELY * recursion.deviations[watched])
        score, information = recursion.score[watched], recursion.information[watched]
        return self.tuner_charts.take(score, information, amount, time, sample)

    def restore(self, state: MonitorState) -> None:
        """Go on from what was saved."""
        self.state = state
        self.recursion.restore(state.q, state.root)
        self.charts.values, self.charts.since = state.charts, state.since
        self.tuner_charts.values = state.tuner_charts
        self.tuner_charts.since = state.tuner_since
        self.course.restore(state.course, state.stride)
        self._theta, self._chain = self.setup.constants(self.recursion.values)

    def saved(self) -> MonitorState:
        """The state with all that moves, to be written."""
        state = self.state
        state.q, state.root = self.recursion.q, self.recursion.root
        state.tuner_charts, state.tuner_since = self.tuner_charts.values, self.tuner_charts.since
        state.course, state.stride = self.course.kept, self.course.stride
        return state

    @property
    def level(self) -> float:
        """How near the charts are to an alarm: 1 is one."""
        return max(self.charts.level, self.tuner_charts.level)
