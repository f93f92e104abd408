"""forecast: how outputs and states go on after the data, with future inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import InferError
from estimica.base.probability.functions import ndtri
from estimica.base.suggest import did_you_mean
from estimica.base.text import listed
from estimica.estimate.fit.result import Fit
from estimica.infer.forecast.inputs import LAST, Future, future_of, told
from estimica.infer.forecast.result import OUTPUT, STATE, Forecast, ForecastCourse
from estimica.infer.states.filters import (
    CaseFilter,
    case_filters,
    require_level,
    require_prediction,
)
from estimica.simulate.filter.draws import continued_path, standing_at
from estimica.simulate.filter.history import Path
from estimica.simulate.filter.variant import require_done


def forecast(
    fit: Fit,
    inputs: object = None,
    *,
    until: float | str | None = None,
    case: str | None = None,
    hold: str | None = None,
    paths: int = 0,
    seed: int = 1,
    level: float = 0.95,
) -> Forecast:
    """How outputs and states go on after the last measured value of a case.

    `inputs` is a table or file with the columns of the case's inputs, or a mapping of such by case;
    rows after the last measured value count, and where none are given those that the data have.
    `until` is where the forecast ends, a time or a date, by default the last of the inputs;
    `hold="last"` keeps the last values of inputs that end before, for a tenth of the record where
    nothing says how long. `paths` draws so many courses.
    Bands hold each stamp by itself; noise in the states, what the data leave open of them, and the
    uncertainty of the estimates (to first order) are in them.
    """
    require_prediction(fit, "forecasts")
    require_level(level)
    if hold not in (None, LAST):
        raise InferError("I866", f"hold '{hold}': inputs are kept with \"last\", or not at all")
    if isinstance(paths, bool) or paths < 0:
        raise InferError("I867", f"paths {paths}: draw some whole number of them, or 0")
    given = _by_case(fit, inputs, case)
    last = {fit.study.partition.case_of(one.name): one for one in case_filters(fit)}
    quantile = float(ndtri((1 + level) / 2))
    courses: list[ForecastCourse] = []
    notes: list[str] = []
    rng = np.random.default_rng(seed)
    for name, table in given.items():
        if name not in last:
            raise InferError("I868", f"case '{name}' could not be simulated; look at the fit")
        one = last[name]
        future = future_of(fit.study, one.record, table, until, hold)
        if future.held:
            notes.append(
                f"case '{name}': the last value of {listed(list(future.held))} is held up to "
                f"{told(one.record, float(future.stamps[-1]))}"
            )
        courses += _courses(fit, name, one, future, quantile, paths, rng)
    return Forecast(fit, level, tuple(courses), tuple(notes))


def _by_case(fit: Fit, inputs: object, case: str | None) -> dict[str, object]:
    """Future inputs by case."""
    names = [c.name for c in fit.cases]
    if case is not None and case not in names:
        raise InferError("I869", f"there is no case '{case}'{did_you_mean(case, names)}")
    if isinstance(inputs, Mapping) and inputs and set(inputs) <= set(names):
        return {n: inputs[n] for n in inputs if case in (None, n)}
    if case is not None:
        return {case: inputs}
    if inputs is not None and len(names) > 1:
        raise InferError(
            "I870",
            f"which of the cases goes on with these inputs? There are {listed(names)}; name one "
            "with case, or give a table for each, by its name",
        )
    return dict.fromkeys(names, inputs)


@dataclass(frozen=True, eq=False)
class _Columns:
    """What a filter says of the future stamps."""

    y: Vector
    r: Vector
    mean: Vector
    variance: Vector  # of the states
    measuring: Vector
    by_estimates: Vector  # variances of y and of the states


def _courses(
    fit: Fit,
    name: str,
    one: CaseFilter,
    future: Future,
    quantile: float,
    paths: int,
    rng: np.random.Generator,
) -> Iterator[ForecastCourse]:
    response = one.predictor.continued(future.inputs, future.stamps)
    theta, slopes = one.predictor.parameters_at(one.values)
    run = response.at(theta)
    require_done(run)
    c = response.configuration
    n, ny = c.n, len(c.outputs)
    size = n * (n + 1) // 2
    count = len(future.stamps)
    sizes = np.cumsum([2 * ny, ny, ny, n, size, ny])
    _, y, r, mean, lower, measuring = np.split(run.Y[-count:], sizes[:-1], axis=1)
    places = [i * (i + 1) // 2 + i for i in range(n)]
    chosen = [*range(2 * ny, 3 * ny), *range(4 * ny, 4 * ny + n)]
    moved = run.YS[-count:, chosen] @ slopes
    by = _estimate_variance(fit, one, moved)
    columns = _Columns(y, r, mean, lower[:, places], measuring, by)
    drawn: list[Path] = []
    if paths:
        times = run.times[-count - 1 :]
        start = standing_at(response, float(times[0]), theta)
        drawn = [continued_path(response, times, start, rng, theta) for _ in range(paths)]
    units = {q.name: q.unit for q in fit.study.model_of(one.record.case).quantities()}
    for k, measured in enumerate(one.record.outputs):
        sure = np.maximum(columns.r[:, k] - columns.measuring[:, k], 0.0)
        whole = fit.setup.whole_record(name).outputs
        past = next(m for m in whole if m.name == measured.name)
        yield ForecastCourse(
            name, OUTPUT, measured.name, units.get(measured.name, measured.unit), future.stamps,
            columns.y[:, k], np.sqrt(sure), np.sqrt(by[:, k]), np.sqrt(columns.measuring[:, k]),
            quantile, past.time, past.value, np.array([p.outputs[1:, k] for p in drawn]),
        )  # fmt: skip
    for k, state in enumerate(c.states):
        yield ForecastCourse(
            name, STATE, state, units.get(state, ""), future.stamps, columns.mean[:, k],
            np.sqrt(np.maximum(columns.variance[:, k], 0.0)), np.sqrt(by[:, ny + k]),
            np.zeros(count), quantile, np.zeros(0), np.zeros(0),
            np.array([p.states[1:, k] for p in drawn]),
        )  # fmt: skip


def _estimate_variance(fit: Fit, one: CaseFilter, moved: Vector) -> Vector:
    """Variances that the uncertainty of the estimates brings; none of a case that validates, whose
    own unknowns have no errors."""
    if one.role == "validate" or not moved.shape[2]:
        return np.zeros(moved.shape[:2])
    columns = list(one.predictor.columns)
    covariance = np.nan_to_num(fit.covariance[np.ix_(columns, columns)], posinf=0.0, neginf=0.0)
    found: Vector = np.maximum(np.einsum("tkm,mn,tkn->tk", moved, covariance, moved), 0.0)
    return found
