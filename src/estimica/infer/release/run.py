"""release: sets unknowns free step by step, as long as the data ask for it.

The null model is what has been found so far. Each candidate frees something more; the cost
reduction tells, through the likelihood-ratio test, the risk of preferring it by mere chance. The
candidate that gains most among those of low risk becomes the next null model. After Bohlin,
Interactive System Identification (1991), and the thesis that brought it to Modelica.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import InferError
from estimica.base.public.calls import told
from estimica.base.result import Outcome, Progress
from estimica.base.suggest import did_you_mean
from estimica.estimate.objective.cost import Objective
from estimica.estimate.search.run import Status
from estimica.estimate.setup import Setup
from estimica.execute.outcome import ItemOutcome, Kind
from estimica.execute.runs.payload import from_text, to_text
from estimica.execute.runs.writer import NoRunWriter, RunWriter
from estimica.execute.workers.context import Context
from estimica.execute.workers.executor import Executor
from estimica.execute.workers.executor import executor as hired
from estimica.infer.likelihood_ratio.partial_fit import FreeState, fit_of, noise_names
from estimica.infer.release.candidates import Weighing
from estimica.infer.release.noise import measuring_noise, none_at, state_noise
from estimica.infer.release.order import Group, stages_of
from estimica.infer.release.result import Ending, Release, Step
from estimica.infer.release.search import (
    Job,
    SearchContext,
    SearchEnding,
    failure,
    jobs,
    run_search,
    search_context,
    search_ending,
)
from estimica.study.estimation import LIKELIHOODS
from estimica.study.study import Study
from estimica.study.tables.inference import ReleaseTable, release_table

BEGUN = "000/begun"  # the checkpoint that says what was asked


@dataclass(frozen=True, kw_only=True)
class ReleaseProgress(Progress):
    """How many searches of a step are done, and what the step is about."""

    step: int
    candidates: int
    cost: float  # of the null model
    chosen: Step | None = None  # once the step has ended

    @property
    def share(self) -> float | None:
        """Nobody knows how many steps there will be."""
        return None

    @property
    def words(self) -> str:
        """How far it is, in words."""
        return f"step {self.step}, {self.done} of {self.count} searches"


Choose = Callable[[Step], int | None]
OnProgress = Callable[[ReleaseProgress], None]


def release(
    study: Study,
    *,
    order: Sequence[str | Sequence[str | Sequence[str]]] | None = None,
    risk: float | None = None,
    settings: Mapping[str, Any] | None = None,
    choose: Choose | None = None,
    progress: OnProgress | bool | None = None,
    workers: int | None = 1,
    executor: str = "local",
    run: RunWriter | None = None,
) -> Release:
    """Release the unknowns of a study one step after the other.

    `order` are the stages: each a list of candidates, a candidate a name or a list of names that
    are released together. `settings` are further keys of the `[release]` table. `choose` is given
    every step and returns which candidate to take (None: none of them); by default the proposed
    one. Searches are shared among `workers`; finished ones are noted in `run`, and found there
    when a run is taken up again. Ctrl-C ends it with the steps that are complete.
    """
    given = dict(settings or {})
    if order is not None:
        given["order"] = order
    if risk is not None:
        given["risk"] = risk
    table = study.tables.get("release", {})
    chosen = release_table(table if isinstance(table, Mapping) else {}, given)
    _require_likelihood(study)
    return stepwise(
        study,
        chosen,
        _beginning,
        choose=choose,
        progress=progress,
        workers=workers,
        executor=executor,
        run=run,
    )


@dataclass(frozen=True, eq=False)
class Beginning:
    """What is free before the first step, and what can be released."""

    state: FreeState
    stages: Sequence[Sequence[Group]]


def stepwise(
    study: Study,
    chosen: ReleaseTable,
    beginning: Callable[[Setup, Objective, ReleaseTable], Beginning],
    *,
    choose: Choose | None = None,
    progress: OnProgress | bool | None = None,
    workers: int | None = 1,
    executor: str = "local",
    run: RunWriter | None = None,
) -> Release:
    """Release step by step from any beginning."""
    begun = perf_counter()
    place = search_context(study)
    first = beginning(*place, chosen)
    work = _Work(place, chosen, first, choose or _proposed, told(progress), run or NoRunWriter())
    context = Context(partial(search_context, study), place)
    with hired(executor, workers) as crew:
        steps, state, outcome = work.run(crew, context)
    setup, objective = place
    return Release(
        study=study,
        outcome=outcome,
        criterion=objective.criterion.name,
        settings=chosen,
        seed=work.seed,
        steps=steps,
        fit=fit_of(setup, objective, state, search=True),
        n_samples=objective.n_samples,
        seconds=perf_counter() - begun,
        run=work.notes.id,
        context=place,
    )


def _proposed(step: Step) -> int | None:
    return step.proposed


def _require_likelihood(study: Study) -> None:
    e = study.estimation
    if e.criterion not in (*LIKELIHOODS, "oe") or e.loss != "squared":
        what = f"loss '{e.loss}'" if e.loss != "squared" else f"criterion '{e.criterion}'"
        raise InferError(
            "I100",
            f"{what} is not a likelihood, so that there is no risk to judge by; use criterion 'ml' "
            "or "
            "'oe' without a loss",
        )
    if e.transcription != "shooting":
        raise InferError(
            "I100",
            f"a release holds unknowns, which transcription '{e.transcription}' cannot; "
            "use 'shooting'",
        )


class _Work:
    """The loop over steps and stages."""

    def __init__(
        self,
        place: SearchContext,
        table: ReleaseTable,
        beginning: Beginning,
        choose: Choose,
        progress: OnProgress | None,
        notes: RunWriter,
    ) -> None:
        self.setup: Setup = place[0]
        self.objective: Objective = place[1]
        self.table = table
        self.choose = choose
        self.told = progress
        self.notes = notes
        estimation = self.setup.study.estimation
        self.seed = estimation.seed if table.seed is None else table.seed
        self.weighing = Weighing(self.setup, self.objective, table)
        self.known = notes.checkpoints()
        self.steps: list[Step] = []
        self.state, self.stages = beginning.state, beginning.stages

    def run(
        self, crew: Executor, context: Context[SearchContext]
    ) -> tuple[tuple[Step, ...], FreeState, Outcome]:
        items = self.objective.unknowns.items
        stages = self.stages
        if not stages and not items:
            raise InferError("I114", _NOTHING)
        first = _evaluated(run_search((self.setup, self.objective), self._nothing()))
        self.state = replace(self.state, cost=first.cost, q=np.array(first.q, float))
        self._require_same(first, [[g.labels(items) for g in stage] for stage in stages])
        try:
            outcome = self._stages(crew, context, stages, first)
        except KeyboardInterrupt:
            said = f"stopped after {_plural(len(self.steps), 'complete step')}"
            outcome = Outcome(Ending.INTERRUPTED, said, ok=False)
        return tuple(self.steps), self.state, outcome

    def _require_same(self, null: SearchEnding, stages: object) -> None:
        """What a run has noted is of use only for the same model, data and settings."""
        asked = {"cost": null.cost, "stages": stages, "seed": self.seed, **asdict(self.table)}
        asked = from_text(to_text(asked))
        earlier = self.known.get(BEGUN)
        if earlier is None:
            self.notes.checkpoint(BEGUN, asked)
            self.notes.flush()
            return
        what = [k for k in asked if earlier.get(k) != asked[k]]
        if "cost" in what and math.isclose(earlier["cost"], asked["cost"], rel_tol=1e-9):
            what.remove("cost")  # another machine may round otherwise
        if what:
            which = "the model or the data" if what == ["cost"] else f"'{what[-1]}'"
            raise InferError(
                "I112",
                f"run '{self.notes.id}' cannot be taken up: {which} has changed since; "
                "begin a new run",
            )

    def _stages(
        self,
        crew: Executor,
        context: Context[SearchContext],
        stages: Sequence[Sequence[Group]],
        null: SearchEnding,
    ) -> Outcome:
        waiting: list[Group] = []
        for stage in stages:
            waiting += stage
            while waiting:
                if len(self.steps) == self.table.max_steps:
                    said = f"stopped after {self.table.max_steps} steps; set max_steps to go on"
                    return Outcome(Ending.STEPS, said)
                ends = self._searched(crew, context, waiting)
                step = self.weighing.step(len(self.steps) + 1, self.state, null, waiting, ends)
                step = replace(step, chosen=self._chosen(step))
                self.steps.append(step)
                self._tell(len(ends), len(ends), len(waiting), step)
                if step.chosen is None or step.choice is None:
                    break  # what was not released is tried again along with the next stage
                null = self.weighing.end(step, step.chosen, ends)
                assert step.choice.state is not None
                self.state = step.choice.state
                del waiting[step.chosen]
        if not waiting:
            return Outcome(Ending.DONE, "everything is released")
        left = _plural(len(waiting), "candidate")
        return Outcome(Ending.DONE, f"{left} left, none of which is worth releasing")

    def _searched(
        self, crew: Executor, context: Context[SearchContext], groups: Sequence[Group]
    ) -> dict[tuple[int, int], SearchEnding]:
        """The ends of all searches of a step; those that the run has noted are not repeated."""
        number = len(self.steps) + 1
        todo = jobs(
            self.objective,
            self.state,
            groups,
            starts=self.table.starts,
            seed=(self.seed, number),
            silent=none_at(self.setup, self.objective, self.state),
        )
        ends = {
            (j.candidate, j.start): search_ending(self.known[_key(number, j)])
            for j in todo
            if _key(number, j) in self.known
        }
        todo = [j for j in todo if (j.candidate, j.start) not in ends]
        count = len(ends) + len(todo)

        def done(index: int, outcome: ItemOutcome[SearchEnding]) -> None:
            job = todo[index]
            one = outcome.value or failure(outcome.error)
            if one.status == Status.INTERRUPTED:
                raise KeyboardInterrupt
            ends[job.candidate, job.start] = one
            if outcome.kind is not Kind.CRASHED:
                self.notes.checkpoint(_key(number, job), one.stored())
            self._tell(len(ends), count, len(groups), None)

        crew.map(run_search, todo, context=context, on_done=done, batch=1)
        return ends

    def _chosen(self, step: Step) -> int | None:
        """What is taken; a choice of before is repeated when a run is taken up again."""
        key = f"{step.number:03d}/chosen"
        if key in self.known:
            earlier: int | None = self.known[key]["candidate"]
            return earlier
        chosen = self.choose(step)
        if chosen is not None and not 0 <= chosen < len(step.candidates):
            raise InferError(
                "I107",
                f"step {step.number} has candidates 0 … {len(step.candidates) - 1}, not {chosen}",
            )
        if chosen is not None and not math.isfinite(step.candidates[chosen].cost):
            raise InferError(
                "I108",
                f"step {step.number}: '{step.candidates[chosen].name}' failed and cannot be "
                "released",
            )
        self.notes.checkpoint(key, {"candidate": chosen})
        self.notes.flush()
        return chosen

    def _nothing(self) -> Job:
        n = len(self.objective.unknowns)
        return Job(0, 0, self.state.q, self.state.held(n), self.state.held_noise)

    def _tell(self, done: int, count: int, candidates: int, step: Step | None) -> None:
        if self.told:
            number = len(self.steps) + (step is None)
            self.told(
                ReleaseProgress(
                    done,
                    count,
                    step=number,
                    candidates=candidates,
                    cost=self.state.cost,
                    chosen=step,
                )
            )


_NOTHING = (
    "there is nothing to release: the study has no unknowns, and noise levels are estimated from "
    "the first step on; add tuners, or release the noise levels too: [release] noise = 1.0"
)


def _key(step: int, job: Job) -> str:
    return f"{step:03d}/{job.candidate:03d}/{job.start:03d}"


def _evaluated(null: SearchEnding) -> SearchEnding:
    if not null.found:
        raise InferError(
            "I109",
            f"the null model cannot be simulated: {null.message}; give start values with which "
            "the model runs",
        )
    return null


def _beginning(setup: Setup, objective: Objective, table: ReleaseTable) -> Beginning:
    null = _null(setup, objective, table)
    of_states = state_noise(setup, objective)
    return Beginning(null, stages_of(table, objective.unknowns.items, null, of_states))


def without_noise(objective: Objective, q: Vector, places: Sequence[int]) -> Vector:
    """The coordinates with no noise in these places."""
    silent = q.copy()
    silent[list(places)] = objective.unknowns.lower[list(places)]
    return silent


def _null(setup: Setup, objective: Objective, table: ReleaseTable) -> FreeState:
    """Nothing free: everything at its start, noise variances as given.

    Of a prediction no noise is in the states, and that of measuring is free.
    """
    names = noise_names(objective)
    q = objective.unknowns.clipped(objective.unknowns.start)
    given = table.noise
    if given is None:
        q = without_noise(objective, q, state_noise(setup, objective))
        return FreeState(frozenset(measuring_noise(setup, objective)), frozenset(names), {}, q)
    if objective.criterion.name != "ml":
        raise InferError(
            "I104",
            f"noise variances belong to criterion 'ml'; leave noise out for "
            f"'{objective.criterion.name}'",
        )
    if isinstance(given, float):
        return FreeState(frozenset(), frozenset(), dict.fromkeys(names, given), q)
    outputs = [b.name for b in objective.blocks]
    for name in given:
        if name in names:
            continue
        if name in outputs:
            raise InferError("I105", f"noise: the sigma of '{name}' is known; leave it out")
        raise InferError(
            "I105", f"noise: no output '{name}' is measured{did_you_mean(name, outputs)}"
        )
    held = {n: given[n] for n in names if n in given}
    return FreeState(frozenset(), frozenset(n for n in names if n not in held), held, q)


def _plural(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
