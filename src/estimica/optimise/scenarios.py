"""Scenarios: the values of uncertain parameters that a robust design is tried with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from estimica.base.errors import DesignError
from estimica.optimise.assess.run import require_parameters
from estimica.optimise.assess.samples import Samples, drawn, drawn_jointly, grid
from estimica.optimise.assess.tuner_distribution import TunerDistribution
from estimica.optimise.design import Design, prepare_design
from estimica.optimise.robust import RobustDesign
from estimica.study.case import Case
from estimica.study.study import Study
from estimica.study.tables.optimise import Distribution, OptimiseTable, RobustTable

MOST = 1000  # scenarios of one design


def prepare_any_design(
    study: Study, table: OptimiseTable, source: TunerDistribution | None = None
) -> Design | RobustDesign:
    """The criteria of a study, in all scenarios where its parameters are uncertain."""
    if table.robust is None:
        return prepare_design(study)
    scenarios = scenarios_of(study, table.robust, table.seed, source)
    designs = [prepare_design(in_scenario(study, s)) for s in scenarios]
    return RobustDesign(designs, scenarios, table.robust)


def scenarios_of(
    study: Study, table: RobustTable, seed: int, source: TunerDistribution | None = None
) -> list[dict[str, float]]:
    """All combinations of lists, each with the draws from distributions or from a fit."""
    names = list(table.uncertain)
    _require_free(study, names)
    lists = {n: u for n, u in table.uncertain.items() if not isinstance(u, Distribution)}
    for name, values in lists.items():
        if not values:
            raise DesignError("O081", f"robust: the list of '{name}' is empty; give its values")
    spread = {n: u for n, u in table.uncertain.items() if isinstance(u, Distribution)}
    parts: list[Samples] = []
    if spread:
        parts.append(drawn(spread, table.scenarios, "latin-hypercube", seed))
    if table.covariance:
        parts.append(_of_fit(study, table, seed, source, names))
    if not parts and not lists:
        raise DesignError(
            "O082",
            "robust: nothing is uncertain; give uncertain = { parameter = [1, 2, 3] }, or a "
            "distribution",
        )
    rows = [dict(zip(c.names, r, strict=True)) for c in [grid(lists)] for r in c.values.tolist()]
    rows = rows or [{}]
    draws: list[dict[str, float]] = [{}]
    if parts:
        draws = [
            {n: float(v) for p in parts for n, v in zip(p.names, p.values[k], strict=True)}
            for k in range(table.scenarios)
        ]
    if len(rows) * len(draws) > MOST:
        raise DesignError(
            "O083",
            f"robust: {len(rows) * len(draws)} scenarios are more than {MOST}; give fewer values",
        )
    return [{**a, **b} for a in rows for b in draws]


def _of_fit(
    study: Study,
    table: RobustTable,
    seed: int,
    source: TunerDistribution | None,
    taken: Sequence[str],
) -> Samples:
    """Fitted values that are not tuned here, as uncertain as their fit has them."""
    if source is None or (source.covariance is None and source.sample is None):
        raise DesignError(
            "O084", "robust: covariance = true needs a fit to start from; give start, or --fit RUN"
        )
    tuned = {t.name for t in study.active_tuners}
    chosen = [k for k, n in enumerate(source.names) if n not in tuned and n not in taken]
    names = [source.names[k] for k in chosen]
    if not names:
        raise DesignError(
            "O085", f"robust: {source.about} has no value that is not tuned in this study"
        )
    if source.sample is not None:
        rows = np.random.default_rng(seed).integers(0, len(source.sample), table.scenarios)
        return Samples(tuple(names), source.sample[rows][:, chosen])
    assert source.covariance is not None
    spread = source.covariance[np.ix_(chosen, chosen)]
    mean = source.values[chosen]
    return drawn_jointly(names, mean, spread, table.scenarios, "latin-hypercube", seed)


def _require_free(study: Study, names: Sequence[str]) -> None:
    """An uncertain parameter is not tuned at the same time."""
    require_parameters(study, names)
    for tuner in study.active_tuners:
        if tuner.name in names:
            raise DesignError(
                "O080", f"robust: '{tuner.name}' is tuned, so that it cannot be uncertain too"
            )


def in_scenario(study: Study, values: Mapping[str, float]) -> Study:
    """The study with these values in every case; they stand before what a case fixes."""
    own = {t.name for t in study.tuners}
    tuners = [
        replace(t, start=values[t.name], min=-np.inf, max=np.inf) if t.name in values else t
        for t in study.tuners
    ]
    fixed: dict[str, float | str] = {n: v for n, v in values.items() if n not in own}
    cases = [replace(c, fix={**c.fix, **fixed}) for c in study.cases]
    if not study.active_cases and fixed:
        cases.append(Case("design", fix=fixed))
    return study.with_(tuners=tuners, cases=cases)
