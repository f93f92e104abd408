"""design_input: which input would tell most about the tuners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from estimica.base.errors import ExperimentError
from estimica.base.public.calls import told
from estimica.compiled.model.interface import Model
from estimica.estimate.fit.result import Fit
from estimica.execute.runs.writer import NoRunWriter, RunWriter
from estimica.execute.threads import one_thread
from estimica.execute.workers.executor import Executor
from estimica.experiment.design.accuracy import accuracy_note, accuracy_section, most_exact
from estimica.experiment.design.multisine import multisine_design
from estimica.experiment.design.problem import (
    design_problem,
    noise_of_fit,
    unregarded,
    values_of_fit,
)
from estimica.experiment.design.result import Candidate, InputDesign
from estimica.experiment.design.signal_class import (
    CandidateContext,
    CandidateRunner,
    OnProgress,
    builder,
    require_class,
    signals_of,
    try_candidates,
    waveform_of,
)
from estimica.study.study import Study
from estimica.study.tables.input_design import (
    InputDesignTable,
    input_design_table,
    names_of,
    values_of,
)
from estimica.study.tuner import Tuner

if TYPE_CHECKING:
    from estimica.experiment.free_input.result import FreeInput

Numbers = Mapping[str, float]


@one_thread()
def design_input(
    study: Study | Model | Fit,
    settings: Mapping[str, Any] | None = None,
    *,
    values: Numbers | None = None,
    workers: int | None = 1,
    executor: str | Executor = "local",
    progress: OnProgress | bool | None = None,
    run: RunWriter | None = None,
) -> InputDesign | FreeInput:
    """The input that would tell most about the tuners, among those that `settings` speaks of.

    `settings` has the keys of the `[input_design]` table and goes before that of the study. The
    tuners are at their starts, at the estimates of a fit, or at `values`; of a model alone, the
    tuners are the keys of `values`. Candidates are shared among `workers`; what is done is noted
    in `run`. Ctrl-C ends it with the best so far.
    """
    begun = perf_counter()
    table = input_design_table(_own(study), settings or {})
    origin, nominal, sigma = _asked(study, table, values)
    left_out = unregarded(origin)
    if table.kind == "free":
        free = _free(origin, table, nominal, sigma, told(progress))
        return replace(free, origin=origin, notes=left_out)
    here = CandidateContext(design_problem(origin, table, nominal, sigma), table)
    many = CandidateRunner(executor, workers, run or NoRunWriter(), told(progress))
    if table.kind == "multisine":
        design = multisine_design(here.bench, table)
    else:
        design = _of_class(here, origin, nominal, sigma, many)
    notes = (*design.notes, *left_out)
    return replace(design, seconds=perf_counter() - begun, origin=origin, notes=notes)


def _free(
    study: Study,
    table: InputDesignTable,
    values: Numbers | None,
    sigma: Numbers | None,
    progress: OnProgress | None,
) -> FreeInput:
    from estimica.experiment.free_input.run import free_input

    return free_input(study, table, values=values, sigma=sigma, progress=progress)


def _own(study: Study | Model | Fit) -> Mapping[str, Any]:
    """The table in the study file."""
    tables = {} if isinstance(study, Model) else _study(study).tables
    own = tables.get("input_design", {})
    return own if isinstance(own, Mapping) else {}


def _study(study: Study | Fit) -> Study:
    return study.study if isinstance(study, Fit) else study


def _asked(
    study: Study | Model | Fit, table: InputDesignTable, values: Numbers | None
) -> tuple[Study, Numbers | None, Numbers | None]:
    """(study, nominal values, noise)."""
    if isinstance(study, Model):
        names = tuple(values or ()) or names_of(table.tuners)
        if not names:
            raise ExperimentError(
                "W082",
                f"say which parameters of '{study.name}' are to be found: "
                "values={'name': its value, about}",
            )
        tuners = [Tuner(n, start=(values or {}).get(n)) for n in names]
        return Study(study, tuners, []), None, None
    if isinstance(study, Fit):
        mine = case_values(study.study, table, values_of_fit(study))
        return study.study, {**mine, **(values or {})}, noise_of_fit(study)
    return study, values, None


def case_values(study: Study, table: InputDesignTable, values: Numbers) -> dict[str, float]:
    """Of estimates by label those of the tuners, and of the case that the design is for."""
    tuners = {t.name for t in study.active_tuners}
    active = study.active_cases
    case = table.case or (active[0].name if active else "")
    return {n: v for n, v in values.items() if n in tuners or n.endswith(f" in {case}")}


def _of_class(
    here: CandidateContext,
    study: Study,
    values: Numbers | None,
    sigma: Numbers | None,
    many: CandidateRunner,
) -> InputDesign:
    require_class(here)
    candidates, best, interrupted = try_candidates(
        here, builder(study, here.table, values, sigma), many
    )
    empty = InputDesign(
        bench=here.bench,
        settings=here.table,
        tried=tuple(candidates),
        chosen=best,
        inputs={},
        Y=np.full((len(here.bench.times), len(here.bench.outputs)), np.nan),
        about="",
        interrupted=interrupted,
    )
    if best is None:
        return empty
    inputs = signals_of(here, best.settings)
    asked = here.bench.names, here.table.criterion, best, candidates
    costs = accuracy_note(*asked)
    return replace(
        empty,
        inputs=inputs,
        Y=here.bench.answer(inputs).Y,
        about=_about(here, best),
        notes=(*([costs] if costs else []), *_notes(here, best)),
        sections=accuracy_section(*asked),
        told={"signal": here.table.signal, "most_exact": _most_exact(candidates)},
    )


def _most_exact(candidates: Sequence[Candidate]) -> dict[str, object] | None:
    """The candidate with the smallest standard errors, by its number and settings."""
    exact = most_exact(candidates)
    if exact is None:
        return None
    return {"index": candidates.index(exact), "candidate": exact.label, **exact.settings}


def _about(here: CandidateContext, best: Candidate) -> str:
    kind = here.table.signal
    own = dict(best.settings) or dict(here.table.fixed)
    told = ", ".join(f"{n} {v:.5g}" if isinstance(v, float) else f"{n} {v}" for n, v in own.items())
    return f"{kind} with {told}" if told else kind


def _notes(here: CandidateContext, best: Candidate) -> list[str]:
    """What is to be known of the choice."""
    notes = []
    for name, grid in here.table.vary.items():
        values = values_of(grid)
        if len(values) > 1 and best.settings[name] in (min(values), max(values)):
            notes.append(
                f"The best {name} {best.settings[name]:g} is at the end of those tried: "
                "try values beyond it"
            )
    if np.ptp(waveform_of(here, best.settings).samples(here.bench.times)) == 0:
        notes.append("The input does not change over the whole experiment")
    return notes + here.table.idle_notes()
