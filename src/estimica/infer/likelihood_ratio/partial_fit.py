"""State: which unknowns of a study are free, the values of all, and noise that is held."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.errors import InferError
from estimica.estimate.conclusion.run import conclude
from estimica.estimate.criteria.block import Block
from estimica.estimate.fit.result import Fit
from estimica.estimate.objective.cost import Objective, Point, scored
from estimica.estimate.objective.predictor import Failure
from estimica.estimate.run.one_start import shooting
from estimica.estimate.search.run import Iteration, SearchResult, Status
from estimica.estimate.setup import Setup, prepare
from estimica.estimate.unknowns import Unknown
from estimica.study.case import Case, OutputColumn, Sigma, StartValue
from estimica.study.record.noise import SigmaFormula
from estimica.study.response_columns import ResponseColumns
from estimica.study.study import Study

Places = dict[tuple[str, str, str], int]  # of the unknowns, by kind, case and name


@dataclass(frozen=True, eq=False)
class FreeState:
    """What is free, and where everything stands.

    `free` are the places of free unknowns, `noise` the outputs whose variance is estimated,
    `held_noise` the variances of the others, `q` the coordinates of all unknowns.
    """

    free: frozenset[int]
    noise: frozenset[str]
    held_noise: Mapping[str, float]
    q: Vector
    cost: float = math.inf

    def held(self, n: int) -> Flags:
        """The unknowns that stay, as a mask."""
        return np.array([k not in self.free for k in range(n)], bool)

    def labels(self, objective: Objective) -> tuple[str, ...]:
        """Everything that is free, by name."""
        items = objective.unknowns.items
        own = [items[k].label for k in sorted(self.free)]
        return (*own, *(noise_label(n) for n in noise_names(objective) if n in self.noise))


def noise_label(output: str) -> str:
    """How the noise variance of an output is called among the unknowns."""
    return f"noise of {output}"


def fit_of(setup: Setup, objective: Objective, state: FreeState, *, search: bool = False) -> Fit:
    """The fit in which only what is free in `state` is unknown; `search` polishes its values."""
    study = reduced(setup, objective, state)
    own = prepare(study)
    small = own.calibration()
    start = small.unknowns.clipped(small.unknowns.start)
    if search and state.free:
        searched = shooting(small, study.estimation, start)
    else:
        searched = _evaluated(scored(small, {}), start)
    return conclude(own, small, searched, (), sum(i.seconds for i in searched.iterations[-1:]))


def _evaluated(objective: Objective, q: Vector) -> SearchResult:
    point = objective.at(q)
    if isinstance(point, Failure):
        return SearchResult(None, Status.FAILED, point.message, ())
    assert isinstance(point, Point)
    first = Iteration(0, point.cost, point.values, 0.0, 0, 0.0)
    said = "the cost was evaluated at the values of a release"
    return SearchResult(point, Status.CONVERGED, said, (first,))


def reduced(setup: Setup, objective: Objective, state: FreeState) -> Study:
    """The study with everything else held where it stands."""
    study = setup.study
    items = objective.unknowns.items
    values = objective.unknowns.values(state.q)
    where: Places = {(str(u.kind), u.case, u.name): k for k, u in enumerate(items)}
    tuners = []
    for tuner in study.tuners:
        k = where.get(("tuner", "", tuner.name))
        if k is not None:
            tuner = replace(tuner, start=_within(items[k], values[k]), active=k in state.free)
        tuners.append(tuner)
    cases = [
        _reduced_case(c, objective, state, values, where)
        if c.active and c.role == "calibrate"
        else c
        for c in study.cases
    ]
    return study.with_(tuners=tuners, cases=cases)


def _reduced_case(
    case: Case,
    objective: Objective,
    state: FreeState,
    values: Vector,
    where: Places,
) -> Case:
    items = objective.unknowns.items
    weights = {(b.case, b.name): b.weight for b in objective.blocks}
    fixed = dict(case.fix)
    free: dict[str, float | StartValue] = {}
    for name, given in case.start_values.items():
        k = where["start", case.name, name]
        value = _within(items[k], values[k])
        if k in state.free:
            free[name] = replace(given, start=value)
        else:
            fixed[name] = value
    outputs: dict[str, str | OutputColumn | ResponseColumns] = {
        name: _reduced_response(objective, state, weights, case, name, column)
        for name, column in case.columns_of_responses.items()
    }
    for name, column in case.columns_of_outputs.items():
        k = where.get(("disturbance", case.name, name), -1)
        if k in state.free:
            written = column.disturbance
            own = written if isinstance(written, StartValue) else StartValue()
            own = replace(own, start=_within(items[k], values[k]))
            column = replace(column, disturbance=own)
        elif k >= 0:
            column = _without_disturbance(case, name, column, float(values[k]))
        if column.sigma is None or (isinstance(column.sigma, Sigma) and not column.sigma.column):
            if name in state.held_noise:
                column = replace(column, sigma=math.sqrt(state.held_noise[name]))
            elif objective.criterion.name == "oe":
                # a weight that is taken from the signal would be another where it is shifted
                column = replace(column, weight=weights[case.name, name])
        outputs[name] = column
    return replace(case, free_start=free, fix=fixed, outputs=outputs)


def _reduced_response(
    objective: Objective,
    state: FreeState,
    weights: Mapping[tuple[str, str], float],
    case: Case,
    name: str,
    column: ResponseColumns,
) -> ResponseColumns:
    """A frequency response with its noise held, or with the weight that it has."""
    if isinstance(column.sigma, (float, str)):
        return column
    own = next(b.name for b in objective.blocks if b.case == case.name and _is_of(b, name))
    if own in state.held_noise:
        return replace(column, sigma=math.sqrt(state.held_noise[own]))
    if objective.criterion.name == "oe":
        return replace(column, weight=weights[case.name, own])
    return column


def _is_of(block: Block, name: str) -> bool:
    return block.name == name or block.name.rpartition("/")[0] == name


def _without_disturbance(case: Case, name: str, column: OutputColumn, value: float) -> OutputColumn:
    """The column with a held disturbance taken from the measured values instead."""
    if value == 0:
        return replace(column, disturbance=False)
    if column.transform is not None:
        raise InferError(
            "I106",
            f"case '{case.name}': the disturbance of '{name}' cannot be held at {value:g}, "
            "because the output is transformed; let it begin at 0",
        )
    offset = (column.offset or 0.0) - value
    return replace(column, disturbance=False, offset=offset)


def _within(unknown: Unknown, value: float) -> float:
    """The value within the bounds, from which rounding may have moved it."""
    return min(max(float(value), unknown.min), unknown.max)


# --- held noise ----------------------------------------------------------------------------------
# Noise levels that are held at given variances instead of being estimated.


def noise_names(objective: Objective) -> tuple[str, ...]:
    """Outputs whose noise variance the criterion estimates."""
    if objective.criterion.name != "ml":
        return ()
    free = [b for b in objective.blocks if not isinstance(b.sigma, (float, SigmaFormula))]
    shared = [b for b in free if b.level != b.name]
    if shared:
        raise InferError(
            "I113",
            f"output '{shared[0].name}' has a noise level that is {shared[0].level}, and a release "
            "frees that of one output at a time; give each its own sigma",
        )
    return tuple(dict.fromkeys(b.name for b in free))


def with_noise(objective: Objective, variances: Mapping[str, float]) -> Objective:
    """The same objective with the noise variances of some outputs held; nothing is compiled."""
    if not variances:
        return objective
    blocks = [
        b
        if isinstance(b.sigma, (float, SigmaFormula)) or b.name not in variances
        else replace(b, sigma=math.sqrt(variances[b.name]))
        for b in objective.blocks
    ]
    return Objective(objective.with_blocks(blocks), objective.criterion.of(blocks))
