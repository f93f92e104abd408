"""montecarlo: the criteria of a study when its parameters scatter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from estimica.base.errors import DesignError
from estimica.estimate.fit import Fit
from estimica.execute.executor import Executor
from estimica.execute.run_writer import RunWriter
from estimica.infer.bootstrap_result import Bootstrap
from estimica.optimise.assess import OnProgress, assess
from estimica.optimise.assessment import Assessment
from estimica.optimise.samples import Samples, drawn, drawn_jointly
from estimica.study.montecarlo_table import MontecarloTable, montecarlo_table
from estimica.study.optimise_table import Distribution
from estimica.study.study import Study


def montecarlo(
    study: Study,
    *,
    source: Fit | Bootstrap | None = None,
    workers: int | None = 1,
    executor: str | Executor = "local",
    progress: OnProgress | None = None,
    run: RunWriter | None = None,
    **settings: object,
) -> Assessment:
    """Draw the parameters, simulate, and take the criteria: quantiles, and how often all is well.

    Parameters are drawn from the distributions of `draw`; the tuners of a `source` from the
    covariance of that fit, or from the sample of that bootstrap. `settings` are those of the
    `[montecarlo]` table and stand before it.
    """
    table = study.tables.get("montecarlo", {})
    own: Mapping[str, Any] = table if isinstance(table, dict) else {}
    chosen = montecarlo_table({k: v for k, v in own.items() if k != "source"}, settings)
    samples = samples_of(study, chosen, source)
    found = assess(study, samples, workers=workers, executor=executor, progress=progress, run=run)
    return found.named("montecarlo", chosen.sampling, chosen.quantiles)


def samples_of(study: Study, table: MontecarloTable, source: Fit | Bootstrap | None) -> Samples:
    """The draws: those of the source beside those of the distributions."""
    parts = []
    if source is not None:
        parts.append(_of_source(study, source, table))
    known = parts[0].names if parts else ()
    for name in table.draw:
        if name in known:
            raise DesignError(
                "O058", f"draw '{name}': it is drawn from the fit already; leave one of them out"
            )
    if table.draw:
        parts.append(drawn(_filled(study, table.draw), table.samples, table.sampling, table.seed))
    if not parts:
        raise DesignError(
            "O059",
            'nothing scatters; give draw = { parameter = { kind = "normal", mean = …, sigma = … '
            "} }, or a fit to draw from",
        )
    names = tuple(n for p in parts for n in p.names)
    return Samples(names, np.hstack([p.values for p in parts]))


def _of_source(study: Study, source: Fit | Bootstrap, table: MontecarloTable) -> Samples:
    fit = source.fit if isinstance(source, Bootstrap) else source
    own = {t.name for t in study.tuners}
    known = own | {q.name for q in study.model.quantities()}
    chosen = [k for k, u in enumerate(fit.unknowns.items) if u.kind == "tuner" and u.name in known]
    names = [fit.unknowns.items[k].name for k in chosen]
    if not names:
        raise DesignError("O060", "the fit has no tuner that this study's model knows")
    if isinstance(source, Bootstrap):
        rng = np.random.default_rng(table.seed + 1)
        rows = rng.integers(0, len(source.values), table.samples)
        return Samples(tuple(names), source.values[rows][:, chosen])
    covariance = fit.accuracy.covariance[np.ix_(chosen, chosen)]
    if not np.isfinite(covariance).all():
        bad = [n for n, v in zip(names, np.diag(covariance), strict=True) if not np.isfinite(v)]
        raise DesignError(
            "O061",
            f"the fit does not determine {', '.join(bad) or 'its tuners'}; fix them there, or give "
            "them a distribution of their own",
        )
    seed = table.seed + 1  # not the draws of the other parameters
    values = fit.values[chosen]
    return drawn_jointly(names, values, covariance, table.samples, table.sampling, seed)


def _filled(study: Study, draw: Mapping[str, Distribution]) -> dict[str, Distribution]:
    """Distributions whose mean is not given have it where the study starts."""
    from dataclasses import replace

    starts = {q.name: q.value for q in study.model.quantities()}
    starts |= {t.name: t.start for t in study.tuners if t.start is not None}
    found = {}
    for name, spread in draw.items():
        value = starts.get(name)
        open_ = spread.kind in ("normal", "lognormal") and spread.mean is None
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        found[name] = replace(spread, mean=float(value)) if open_ and number else spread  # type: ignore[arg-type]
    return found
