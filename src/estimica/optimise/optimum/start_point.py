"""Where a search begins: at the values of a fit, of another design, or of a run in the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from estimica.estimate.fit.result import Fit
from estimica.execute.runs.store import Store
from estimica.execute.runs.writer import RunWriter
from estimica.infer.bootstrap.result import Bootstrap
from estimica.optimise.assess.tuner_distribution import (
    BOOTSTRAP,
    FIT,
    TunerDistribution,
    tuner_distribution,
)
from estimica.optimise.optimum.result import Optimised
from estimica.study.case import Case
from estimica.study.study import Study

#: a result, or the name of its run
StartSource = Fit | Bootstrap | Optimised | str


def with_values(
    study: Study,
    start: StartSource | None,
    *,
    workers: int | None = 1,
    run: RunWriter | None = None,
    store: Path | None = None,
) -> tuple[Study, TunerDistribution | None]:
    """The study with the values of a result, and what that says of them."""
    if start is None:
        return study, None
    source = _designed(study, start, store)
    if source is None:
        assert not isinstance(start, Optimised)
        source = tuner_distribution(study, start, workers=workers, run=run, store=store)
    return study_at_values(study, source), source


def _designed(study: Study, start: StartSource, store: Path | None) -> TunerDistribution | None:
    """The values of another design, which has no covariance."""
    if isinstance(start, Optimised):
        names = tuple(u.name for u in start.unknowns.items)
        about = f"the design of '{start.study.name}'"
        return TunerDistribution(names, start.best.tuners, about=about).known_in(study)
    named = isinstance(start, str) and start not in (FIT, BOOTSTRAP)
    if not isinstance(start, str) or not named or (study.path is None and store is None):
        return None
    noted = Store.of(study.path or Path(), store).run(start)
    if noted.summary.command != "optimise":
        return None
    tuners: Mapping[str, Any] = noted.result.get("tuners", {})
    values = np.array([t["value"] for t in tuners.values()], float)
    return TunerDistribution(tuple(tuners), values, about=f"run '{noted.id}'").known_in(study)


def study_at_values(study: Study, source: TunerDistribution) -> Study:
    """The study with a fit's values: tuners start there, other parameters are held there.

    What a case fixes itself stands before a fitted value.
    """
    values = dict(zip(source.names, map(float, source.values), strict=True))
    own = {t.name for t in study.tuners}
    tuners = [
        replace(t, start=float(np.clip(values[t.name], t.min, t.max))) if t.name in values else t
        for t in study.tuners
    ]
    fixed: dict[str, float | str] = {n: v for n, v in values.items() if n not in own}
    cases = [replace(c, fix={**fixed, **c.fix}) for c in study.cases]
    if not study.active_cases and fixed:
        cases.append(Case("design", fix=fixed))
    return study.with_(tuners=tuners, cases=cases)
