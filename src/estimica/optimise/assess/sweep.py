"""sweep: the criteria of a study over grids, corners or samples of its parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from estimica.base.errors import DesignError
from estimica.base.public.calls import told, without_none
from estimica.execute.runs.writer import RunWriter
from estimica.execute.workers.executor import Executor
from estimica.optimise.assess.result import Assessment
from estimica.optimise.assess.run import OnProgress, assess, nominal, require_parameters
from estimica.optimise.assess.samples import (
    Samples,
    factorial,
    grid,
    in_ranges,
    one_at_a_time,
    require_few,
    values_of,
)
from estimica.optimise.assess.start_point import StartSource, with_values
from estimica.study.study import Study
from estimica.study.tables.input_design import Span
from estimica.study.tables.optimisation import SweepTable, sweep_table

STEPS = 11  # of a tuner that is swept between its bounds


def sweep(
    study: Study,
    *,
    vary: Mapping[str, Span | Sequence[float] | Mapping[str, object]] | None = None,
    design: Literal["grid", "factorial", "one-at-a-time", "latin-hypercube", "sobol"] | None = None,
    samples: int | None = None,
    seed: int | None = None,
    curves: int | None = None,
    start: StartSource | None = None,
    workers: int | None = 1,
    executor: str | Executor = "local",
    progress: OnProgress | bool | None = None,
    run: RunWriter | None = None,
    store: Path | None = None,
) -> Assessment:
    """Simulate a study at many values of its parameters and take its criteria.

    Settings that are given stand before those of the `[sweep]` table. Without `vary` the tuners go
    from their lower to their upper bounds. What is not varied is at the values of `start`: of a
    design, of a fit, or of a run in the `store`.
    """
    study, _ = with_values(study, start, workers=workers, run=run, store=store, scatter=False)
    table = study.tables.get("sweep", {})
    own: Mapping[str, Any] = table if isinstance(table, dict) else {}
    given = without_none(vary=vary, design=design, samples=samples, seed=seed, curves=curves)
    chosen = sweep_table(own, given)
    grid = samples_of(study, chosen)
    assessment = assess(
        study,
        grid,
        workers=workers,
        executor=executor,
        progress=told(progress),
        run=run,
        centre=_centre(study, {n: tuple(grid.values[:, k]) for k, n in enumerate(grid.names)}),
        curves=chosen.curves,
    )
    return replace(assessment.named("sweep", chosen.design), seed=chosen.seed)


def samples_of(study: Study, table: SweepTable) -> Samples:
    """The points of a sweep."""
    require_parameters(study, list(table.vary))
    given = table.vary or _bounds(study, 2 if table.design == "factorial" else STEPS)
    require_few({n: v.count if isinstance(v, Span) else len(v) for n, v in given.items()})
    axes = {n: values_of(v) for n, v in given.items()}
    for name, values in axes.items():
        if not values:
            raise DesignError("O055", f"vary '{name}': there is no value; give a list or a range")
    if table.design == "grid":
        return grid(axes)
    if table.design == "one-at-a-time":
        return one_at_a_time(axes, _centre(study, axes))
    ends = {n: (min(v), max(v)) for n, v in axes.items()}
    if table.design == "factorial":
        return factorial(ends)
    log = [n for n, v in given.items() if isinstance(v, Span) and v.spacing == "log"]
    return in_ranges(ends, table.samples, table.design, table.seed, log)


def _bounds(study: Study, count: int) -> dict[str, Span]:
    """The tuners between their bounds."""
    bounds = {}
    for tuner in study.active_tuners:
        if not (math.isfinite(tuner.min) and math.isfinite(tuner.max)):
            raise DesignError(
                "O056",
                f"tuner '{tuner.name}' has no bounds to go between; give them, or say what is "
                f"swept: vary = {{ {tuner.name} = {{ from = …, to = … }} }}",
            )
        log = tuner.scale == "log" and tuner.min > 0
        bounds[tuner.name] = Span(tuner.min, tuner.max, count, "log" if log else "linear")
    if not bounds:
        raise DesignError("O057", "there is nothing to sweep; give vary = { parameter = [ … ] }")
    return bounds


def _centre(study: Study, axes: Mapping[str, tuple[float, ...]]) -> dict[str, float]:
    """Where each parameter stands while another is moved: start, model's value, or the middle."""
    values = nominal(study)
    return {n: values.get(n, sorted(given)[len(given) // 2]) for n, given in axes.items()}
