"""montecarlo: the criteria of a study when its parameters scatter."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from estimica.base.errors import DesignError
from estimica.base.public.calls import told, without_none
from estimica.base.result import Result
from estimica.estimate.fit.result import Fit
from estimica.execute.carry import found_run
from estimica.execute.runs.names import LAST
from estimica.execute.runs.writer import RunWriter
from estimica.execute.workers.executor import Executor
from estimica.infer.bootstrap.result import Bootstrap
from estimica.infer.posterior.result import Posterior
from estimica.optimise.assess.global_sensitivity import (
    Plan,
    morris_plan,
    sensitivity_indices,
    sobol_plan,
)
from estimica.optimise.assess.result import Assessment
from estimica.optimise.assess.run import OnProgress, assess, nominal, require_parameters
from estimica.optimise.assess.samples import Samples, drawn, shape
from estimica.optimise.assess.start_point import StartSource, with_values
from estimica.optimise.assess.tuner_distribution import (
    SCATTERING,
    TunerDistribution,
    tuner_distribution,
)
from estimica.study.study import Study
from estimica.study.tables.optimisation import Distribution, MontecarloTable, montecarlo_table

SAME = 1e-6  # relative: means that differ by less are the same; as numbers are printed


def montecarlo(
    study: Study,
    *,
    draw: Mapping[str, Distribution | Mapping[str, object]] | None = None,
    source: Result | str | None = None,
    start: StartSource | None = None,
    samples: int | None = None,
    sampling: Literal["random", "latin-hypercube", "sobol"] | None = None,
    quantiles: Sequence[float] | None = None,
    sensitivity: Literal["none", "morris", "sobol"] | None = None,
    seed: int | None = None,
    curves: int | None = None,
    workers: int | None = 1,
    executor: str | Executor = "local",
    progress: OnProgress | bool | None = None,
    run: RunWriter | None = None,
    store: Path | None = None,
) -> Assessment:
    """Draw the parameters, simulate, and take the criteria: quantiles, and how often all is well.

    Parameters are drawn from the distributions of `draw`; the tuners of a `source` from the
    covariance of that fit, from the sample of that bootstrap, or from that posterior. A source may
    be a name too: 'fit', 'bootstrap', 'sample', or a run in the `store`. What is not drawn, and
    distributions without a mean, are at the values of `start`: of a design, or of a fit. An
    optimum has no scatter; as `source` it is a `start`. Settings that are given stand before those
    of the `[montecarlo]` table.
    """
    table = study.tables.get("montecarlo", {})
    own: Mapping[str, Any] = table if isinstance(table, dict) else {}
    settings = without_none(
        draw=draw,
        samples=samples,
        sampling=sampling,
        quantiles=quantiles,
        sensitivity=sensitivity,
        seed=seed,
        curves=curves,
    )
    chosen = montecarlo_table(own, settings)
    given = chosen.source if source is None else source
    if start is None and _has_no_scatter(study, given, store):
        start, given = given, None
    study, _ = with_values(study, start, workers=workers, run=run, store=store, scatter=False)
    require_parameters(study, list(chosen.draw))
    spread = _filled(study, chosen.draw)
    for name, one in spread.items():
        shape(name, one)  # what is wrong with it is told before a fit is made
    _refuse(chosen, given is not None)
    known = None
    if given is not None:
        assert isinstance(given, Fit | Bootstrap | Posterior | str)
        known = tuner_distribution(study, given, workers=workers, run=run, store=store)
    drawn_samples, plan = samples_of(chosen, spread, known)
    assessment = assess(
        study,
        drawn_samples,
        workers=workers,
        executor=executor,
        progress=told(progress),
        run=run,
        centre=_centre(drawn_samples, spread, known),
        curves=chosen.curves,
    )
    how = "sobol" if chosen.sensitivity == "sobol" else chosen.sampling
    bounds = "" if known is None else known.remark(drawn_samples)
    remarks = [bounds, *_own_means(study, chosen.draw)]
    remark = "; ".join(filter(None, remarks))
    assessment = replace(
        assessment.named("montecarlo", how, chosen.quantiles), seed=chosen.seed, remark=remark
    )
    if plan is not None:
        labels = [p.label for p in assessment.places]
        indices = sensitivity_indices(
            plan, drawn_samples.names, labels, assessment.values, assessment.good
        )
        assessment = replace(assessment, sensitivity=indices)
    return assessment


def _has_no_scatter(study: Study, source: Result | str | None, store: Path | None) -> bool:
    """Whether a source has values only, as an optimum has."""
    if isinstance(source, str):
        if source in (*SCATTERING, LAST) or (study.path is None and store is None):
            return False
        found = found_run(study, source, store, with_values=False)
        return found.run.summary.command == "optimise"
    return source is not None and not isinstance(source, Fit | Bootstrap | Posterior)


def _own_means(study: Study, draw: Mapping[str, Distribution]) -> Iterator[str]:
    """Parameters whose distribution lies elsewhere than the value that was found for them."""
    if study.origin is None:
        return
    for name, value in study.origin.values.items():
        one = draw.get(name)
        if one is None:
            continue
        other = ""
        if one.mean is not None and not math.isclose(one.mean, value, rel_tol=SAME):
            other = f"around its mean {one.mean:.6g}"
        elif one.min is not None and one.max is not None and not one.min <= value <= one.max:
            other = f"between {one.min:.6g} and {one.max:.6g}"
        if other:
            yield f"'{name}' is drawn {other}, not around {value:.6g} of {study.origin.about}"


def _refuse(table: MontecarloTable, has_source: bool) -> None:
    if table.sensitivity != "none" and has_source:
        raise DesignError(
            "O067",
            f'sensitivity = "{table.sensitivity}" needs parameters that scatter independently, '
            "those of a fit do not; give each a distribution in draw, or leave sensitivity out",
        )
    if not (has_source or table.draw):
        raise DesignError(
            "O059",
            'nothing scatters; give draw = { parameter = { kind = "normal", mean = …, sigma = … '
            "} }, or a fit to draw from",
        )


def samples_of(
    table: MontecarloTable,
    spread: Mapping[str, Distribution],
    source: TunerDistribution | None = None,
) -> tuple[Samples, Plan | None]:
    """The draws: those of the source beside those of the distributions; and for what else."""
    if table.sensitivity == "sobol":
        return sobol_plan(spread, table.samples, table.seed)
    parts = []
    if source is not None:
        parts.append(source.drawn(table))
        for name in spread:
            if name in source.names:
                raise DesignError(
                    "O058",
                    f"draw '{name}': it is drawn from the fit already; leave one of them out",
                )
    if spread:
        parts.append(drawn(spread, table.samples, table.sampling, table.seed))
    names = tuple(n for p in parts for n in p.names)
    draws = Samples(names, np.hstack([p.values for p in parts]))
    if table.sensitivity == "morris":
        return morris_plan(spread, table.samples, table.seed, draws)
    return draws, None


def _centre(
    samples: Samples, spread: Mapping[str, Distribution], source: TunerDistribution | None
) -> dict[str, float]:
    """Where local sensitivities are taken: the estimates, and the medians."""
    centre = {n: float(shape(n, d).median()) for n, d in spread.items()}
    if source is not None:
        centre |= dict(zip(source.names, map(float, source.values), strict=True))
    return {n: centre[n] for n in samples.names}


def _filled(study: Study, draw: Mapping[str, Distribution]) -> dict[str, Distribution]:
    """Distributions whose mean is not given have it where the study starts."""
    starts = nominal(study)
    filled = {}
    for name, spread in draw.items():
        open_ = spread.kind in ("normal", "lognormal") and spread.mean is None
        filled[name] = replace(spread, mean=starts[name]) if open_ and name in starts else spread
    return filled
