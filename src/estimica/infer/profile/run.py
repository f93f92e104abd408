"""profile: how the best cost rises when one unknown is held off its estimate.

The others are fitted again at each value. Unlike a standard error the profile does not believe
that the model is linear, and it shows where the data do not bound an unknown at all (Venzon and
Moolgavkar, Applied Statistics 37, 1988; Raue et al., Bioinformatics 25, 2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter

from estimica.base.errors import InferError
from estimica.base.public.calls import told
from estimica.base.suggest import did_you_mean
from estimica.estimate.fit.result import Fit
from estimica.estimate.objective.cost import Point, accuracy_objective, with_curvature_of
from estimica.estimate.unknowns import Unknowns
from estimica.execute.batches import WorkedBy, threads_for
from estimica.execute.runs.writer import NoRunWriter, RunWriter
from estimica.execute.threads import one_thread
from estimica.execute.workers.context import Context
from estimica.execute.workers.executor import Executor, executor_for
from estimica.infer.profile.joint_walks import WORTH, JointPlace
from estimica.infer.profile.result import Profile, concluded
from estimica.infer.profile.rounds import OnProgress, ProfileProgress, ProfileTask, Rounds
from estimica.infer.profile.threshold import thresholds
from estimica.infer.refit import (
    FitContext,
    batch_fits,
    estimate_of,
    fit_context,
    fit_context_of,
    require_estimate,
)

__all__ = ["OnProgress", "ProfileProgress", "profile"]


def profile(
    fit: Fit,
    names: str | Sequence[str] | None = None,
    *,
    level: float = 0.95,
    points: int = 8,
    workers: int | None = 1,
    executor: str | Executor = "local",
    progress: OnProgress | bool | None = None,
    run: RunWriter | None = None,
) -> Profile:
    """Profiles of the named unknowns, or of all, with intervals of confidence `level`.

    `points` is about how many refits lie between the estimate and either end. The sides of all
    profiles are shared among `workers`; what is done is noted in `run`, and found there when it
    is taken up again. Ctrl-C ends it with what has been walked so far.
    """
    begun = perf_counter()
    require_estimate(fit, "profile")
    _require(level, points)
    _require_threshold(fit)
    with one_thread():
        place = fit_context_of(fit)
        chosen = _chosen(place.objective.unknowns, names)
        point = place.objective.at(place.q)
        if not isinstance(point, Point):
            raise InferError(
                "I504", f"case '{point.case}' cannot be simulated at the estimate: {point.message}"
            )
        judge = accuracy_objective(place.objective, point)
        seen = point if isinstance(judge, str) else with_curvature_of(judge, point)
        limits = thresholds(fit, place.objective, seen, level)
    rises = {k: float(limits.rises[k]) for k in chosen}
    asked = ProfileTask(place, point.cost, rises, points, frozenset(fit.rough.unknowns))
    rounds = Rounds(asked, fit.starts, told(progress))
    context = Context(partial(fit_context, fit.study, estimate_of(fit)), place)
    interrupted, joint, worked = False, None, WorkedBy("scalar")
    try:
        joint, worked = _joint(place, 2 * len(chosen), executor, workers)
        who, count = (executor, workers) if joint is None else ("serial", None)
        with executor_for(who, count) as hands:
            rounds.go(hands, context, run or NoRunWriter(), joint)
    except KeyboardInterrupt:
        interrupted = True
    if joint is not None:
        worked = replace(worked, alone=joint.left)
    found = concluded(
        fit, place.objective.unknowns, point, level, limits, rounds.branches, rounds.better
    )
    spent = perf_counter() - begun
    return replace(found, interrupted=interrupted, seconds=spent, worked_by=worked)


def _joint(
    place: FitContext, sides: int, executor: str | Executor, workers: int | None
) -> tuple[JointPlace | None, WorkedBy]:
    """What searches the refits of all sides together, where that is possible and worth it."""
    asked = place.setup.study.execute.backend
    if executor not in ("local", "serial") or (asked == "auto" and sides < WORTH):
        return None, WorkedBy("scalar")
    fits, reason = batch_fits(place, threads_for(executor, workers))
    if fits is None or fits.backend == "scalar":
        return None, WorkedBy("scalar", reason=reason)
    return JointPlace(place, fits), WorkedBy(fits.backend, reason=reason)


def _chosen(unknowns: Unknowns, names: str | Sequence[str] | None) -> list[int]:
    """Places of the named unknowns: a label, or a name that only one unknown has."""
    if names is None:
        return list(range(len(unknowns)))
    places = []
    for name in [names] if isinstance(names, str) else names:
        by_label = [k for k, u in enumerate(unknowns.items) if u.label == name]
        fitting = by_label or [k for k, u in enumerate(unknowns.items) if u.name == name]
        labels = [u.label for u in unknowns.items]
        if not fitting:
            hint = did_you_mean(name, labels) or f" (there are {', '.join(labels)})"
            raise InferError("I502", f"the fit has no unknown '{name}'{hint}")
        if len(fitting) > 1:
            several = " or ".join(f"'{labels[k]}'" for k in fitting)
            raise InferError("I503", f"several unknowns are called '{name}'; write {several}")
        places.append(fitting[0])
    return list(dict.fromkeys(places))


def _require_threshold(fit: Fit) -> None:
    """Refuse criteria whose rise stands for no confidence."""
    if fit.rough.reason and len(fit.rough.unknowns) == len(fit.unknowns):
        raise InferError(
            "I508",
            f"profile: {fit.rough.reason}, so that no rise of it stands for a confidence; take a "
            "bootstrap, or a criterion that is smooth",
        )


def _require(level: float, points: int) -> None:
    if not 0 < level < 1:
        raise InferError("I505", f"level {level:g} must lie between 0 and 1, as 0.95")
    if points < 2:
        raise InferError("I506", f"{points} points show no profile; use 4 or more")
