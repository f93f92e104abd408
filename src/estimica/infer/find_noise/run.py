"""find_noise: puts noise into one state after the other and tells where it helps most.

All other unknowns are free. A state whose noise gains much likelihood is one whose equation leaves
something out that the data show; the noise is kept, and the states that are left are tried again.
After Kristensen, Madsen and Jørgensen, Automatica 40, 2004.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from estimica.base.errors import InferError
from estimica.base.suggest import did_you_mean
from estimica.estimate.objective.cost import Objective
from estimica.estimate.setup import Setup
from estimica.execute.runs.writer import RunWriter
from estimica.infer.find_noise.result import NoiseSearch
from estimica.infer.likelihood_ratio.partial_fit import FreeState, noise_names
from estimica.infer.release.order import Group
from estimica.infer.release.run import Beginning, Choose, OnProgress, stepwise, without_noise
from estimica.study.noise.process import PREDICTION
from estimica.study.study import Study
from estimica.study.tables.inference import ReleaseTable, release_table

#: criteria whose studies can be turned into predictions: all else about them stays
TURNED = ("oe", "ml", PREDICTION)


def find_noise(
    study: Study,
    *,
    states: Sequence[str] | None = None,
    steps: int | None = None,
    risk: float | None = None,
    settings: Mapping[str, Any] | None = None,
    choose: Choose | None = None,
    progress: OnProgress | bool | None = None,
    workers: int | None = 1,
    executor: str = "local",
    run: RunWriter | None = None,
) -> NoiseSearch:
    """Put noise into one state at a time, and keep it where it helps most, until none helps.

    It begins with the noise that the study has in its states, if any, and tries all `states`
    without noise, or those that are named, in at most so many `steps`. Where every state has noise,
    those are tried whose noise is a tuner of its own: they begin without it. `risk` is the largest
    of keeping noise that is not there, 0.05 unless told; `settings` are further: `starts`, `seed`.
    A study of criterion "oe" or "ml" is taken with "prediction". `choose` is given every step and
    returns which candidate to keep. Searches are shared among `workers`; finished ones are noted in
    `run`. Ctrl-C ends it with the steps that are complete.
    """
    given = dict(settings or {})
    named = given.pop("states", None) if states is None else states
    most = given.pop("steps", None) if steps is None else steps
    if most is not None:
        given["max_steps"] = most
    if risk is not None:
        given["risk"] = risk
    chosen = release_table({"starts": 1}, given)
    wider, tried = with_noise_everywhere(study, named)
    found = stepwise(
        wider,
        chosen,
        _Begin(tuple(tried)),
        choose=choose,
        progress=progress,
        workers=workers,
        executor=executor,
        run=run,
    )
    return NoiseSearch(study=study, release=found, states=tried, run=found.run)


def with_noise_everywhere(
    study: Study, states: Sequence[str] | None = None
) -> tuple[Study, dict[str, str]]:
    """The study with noise in all states that are tried; states by tuner.

    These are the named ones, or all without noise; where every state has noise, those whose noise
    is a tuner of its own, which then begins at none.
    """
    _require_possible(study)
    known = [q.name for q in study.model.quantities() if q.role == "state"]
    noisy = [n for n, level in study.process_noise.items() if level != 0]
    own = _own_tuners(study)
    for name in states or ():
        if name not in known:
            raise InferError(
                "I131",
                f"'{name}' is not a state of '{study.model.name}'{did_you_mean(name, known)} "
                f"(states: {', '.join(known[:8]) or 'none'})",
            )
        if name in noisy and name not in own:
            raise InferError(
                "I131",
                f"the noise of state '{name}' is '{study.process_noise[name]}', not a tuner of its "
                "own that could begin at none; leave the state out of states, or take its entry "
                "out of [process_noise]",
            )
    chosen = [n for n in known if n not in noisy] or list(own) if states is None else states
    if not chosen:
        raise InferError("I132", f"there is no state to try: {_why_none(known)}")
    taken = {t.name for t in study.tuners} | {q.name for q in study.model.quantities()}
    tuners: dict[str, str] = {}
    for state in dict.fromkeys(chosen):
        tuners[own.get(state) or _free_name(state, taken | tuners.keys())] = state
    noise = {n: v for n, v in study.process_noise.items() if v != 0}
    noise |= {state: tuner for tuner, state in tuners.items()}
    estimation = replace(study.estimation, criterion=PREDICTION)
    return study.with_(process_noise=noise, estimation=estimation), tuners


def _own_tuners(study: Study) -> dict[str, str]:
    """The tuner that is the noise of a state and of no other, by state."""
    levels = [str(level) for level in study.process_noise.values()]
    tuners = {t.name for t in study.tuners}
    return {
        state: level
        for state, level in study.process_noise.items()
        if isinstance(level, str) and level in tuners and levels.count(level) == 1
    }


def _why_none(known: Sequence[str]) -> str:
    if not known:
        return "the model has no states"
    return (
        "every state has noise already, of a size that is given or shared; take the entries of the "
        "states in question out of [process_noise]"
    )


def _free_name(state: str, taken: set[str]) -> str:
    name = f"noise_{re.sub(r'[^0-9A-Za-z]+', '_', state).strip('_')}"
    while name in taken:
        name += "_"
    return name


def _require_possible(study: Study) -> None:
    e = study.estimation
    if e.criterion not in TURNED or e.loss != "squared":
        what = f"loss '{e.loss}'" if e.loss != "squared" else f"criterion '{e.criterion}'"
        raise InferError(
            "I130",
            f"{what} has no likelihood that noise in a state could gain; write criterion = "
            '"prediction" in [estimate], without a loss',
        )


@dataclass(frozen=True)
class _Begin:
    """Everything is free but the noise that is tried."""

    tried: tuple[str, ...]

    def __call__(self, setup: Setup, objective: Objective, table: ReleaseTable) -> Beginning:
        items = objective.unknowns.items
        places = [k for k, u in enumerate(items) if u.kind == "tuner" and u.name in self.tried]
        start = objective.unknowns.clipped(objective.unknowns.start)
        free = frozenset(range(len(items))) - set(places)
        q = without_noise(objective, start, places)
        null = FreeState(free, frozenset(noise_names(objective)), {}, q)
        return Beginning(null, [[Group((k,)) for k in places]])
