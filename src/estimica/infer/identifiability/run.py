"""identifiability: which unknowns the data determine, which no data would, and what would help."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import FitError
from estimica.base.public.calls import told
from estimica.base.result import Progress
from estimica.estimate.fit.result import Fit
from estimica.estimate.handover.frames import correlations
from estimica.estimate.identify.twins import twin_advice
from estimica.estimate.run.fit import fit as estimate
from estimica.estimate.setup import prepare
from estimica.infer.identifiability.result import Correlated, Identifiability
from estimica.infer.identifiability.structural.run import (
    Structural,
    judge,
)
from estimica.infer.second_model.run import second_model
from estimica.infer.sensitivity.result import SensitivityMeasures
from estimica.infer.sensitivity.run import Quiet, measures, moving
from estimica.study.formulas import tuners_of_noise, without_noise_tuners
from estimica.study.study import Study

#: from which on two unknowns count as hardly told apart. Chosen: each is then 3.2 times less exact,
#: 1/√(1 − r²), than with the other given
CORRELATED = 0.95


def _nobody(progress: Progress) -> None:
    """Nobody listens."""


def identifiability(
    study: Study | Fit,
    *,
    quiet: Quiet | None = None,
    structural: bool = True,
    seed: int = 0,
    second: Study | None = None,
    progress: Callable[[Progress], None] | bool | None = None,
) -> Identifiability:
    """Which unknowns the data determine, which no data would, and what would help.

    A study is fitted first. `quiet` gives the noise of the outputs (see `measures`), `structural`
    asks whether better data could help, at random points of `seed`. `second` is another study of
    the same tuners: does what is left open matter there (see `second_model`)?
    """
    tell = told(progress) or _nobody
    tell(Progress(0, 3, text="fit"))
    fit = study if isinstance(study, Fit) else estimate(study)
    if not fit.n_free:
        raise FitError("F060", f"study '{fit.study.name}' has no unknowns; add a tuner")
    if not np.isfinite(fit.cost):
        raise FitError(
            "F062", f"there is no estimate to judge: {fit.outcome.message}; fix that first"
        )
    labels = tuple(u.label for u in fit.unknowns.items)
    correlation = correlations(fit.covariance)
    tell(Progress(1, 3, text="what the data determine"))
    sensed = measures(fit, quiet=quiet)
    tell(Progress(2, 3, text="what better data would determine"))
    return Identifiability(
        study=fit.study.name,
        names=labels,
        values=fit.values,
        at_bound=fit.at_bound,
        data=fit.identifiability,
        correlation=correlation,
        correlated=correlated(labels, correlation),
        vif=_inflation(fit, sensed),
        structural=_structural(fit, seed) if structural else None,
        measures=sensed,
        second=None if second is None else second_model(fit, second),
        practical=fit.practical,
        hardly=fit.practical_advice,
        twins=fit.twins,
        twin_advice=twin_advice(fit),
        origin=fit.study,
    )


def _structural(fit: Fit, seed: int) -> Structural:
    """Whether better data could help, asked of the unknowns that move outputs."""
    of_noise = tuners_of_noise(fit.study)
    if not of_noise:
        return judge(fit.setup, fit.setup.calibration(), fit.values, seed)
    setup = prepare(without_noise_tuners(fit.study))
    kept = [u.kind != "tuner" or u.name not in of_noise for u in fit.unknowns.items]
    return judge(setup, setup.calibration(), fit.values[kept], seed)


def correlated(names: tuple[str, ...], correlation: Vector) -> tuple[Correlated, ...]:
    """Groups of unknowns joined by correlations above 0.95."""
    strong = np.nan_to_num(np.abs(correlation)) > CORRELATED
    np.fill_diagonal(strong, False)
    open_ = {k for k in range(len(names)) if strong[k].any()}
    groups = []
    while open_:
        group, grown = set[int](), {min(open_)}
        while grown != group:
            group = grown
            grown = group | {int(j) for k in group for j in np.flatnonzero(strong[k])}
        open_ -= group
        chosen = sorted(group)
        part = correlation[np.ix_(chosen, chosen)] - np.eye(len(chosen))
        largest = float(part.ravel()[np.nanargmax(np.abs(part))])
        groups.append(Correlated(tuple(names[k] for k in chosen), largest))
    return tuple(groups)


def _inflation(fit: Fit, sensed: SensitivityMeasures) -> Vector:
    """Variance inflation: how much more uncertain by the others being unknown too."""
    found = np.full(len(fit.values), np.nan)
    found[moving(fit)] = sensed.measures.R_i**2
    return found
