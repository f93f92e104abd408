"""Segments: one case cut into pieces of time, each simulated from a state of its own.

With s the states at the beginning of a piece, its outputs and the states at its end come with
their derivatives by the unknowns of the case and by s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import FitError, SimulationError
from estimica.compiled.equations import Equations
from estimica.compiled.kernel import Kernel, build_kernel
from estimica.compiled.tuning import Constant, tune
from estimica.estimate.objective.predictor import CasePredictor, Predictor
from estimica.estimate.objective.residuals import ResidualFunction
from estimica.estimate.setup import Setup
from estimica.flat import expression as ex
from estimica.flat.modelica_text import write_expression
from estimica.simulate.engine import run as engine
from estimica.simulate.engine.options import Pieces
from estimica.simulate.engine.result import Run
from estimica.simulate.engine.run import integrate
from estimica.simulate.failure import failure_text
from estimica.simulate.inputs import inputs_at
from estimica.simulate.modelica.model import ModelicaModel
from estimica.simulate.response import Response
from estimica.structure.sorted_system import SortedSystem

#: how far, in their sizes, states may be moved for a measured output to agree by all but half.
#: Chosen: a state that would have to be more than ten times its size is not what the output
#: measures
TRUST = 10.0


@dataclass(frozen=True, eq=False)
class Segment:
    """A piece of time: its stamps (without the end), its inputs, and where its rows begin."""

    begin: float
    times: Vector  # its stamps, then the beginning of the next
    pieces: Pieces
    first: int  # of its stamps among those of the case
    count: int

    @property
    def rows(self) -> slice:
        """Its stamps among those of the case."""
        return slice(self.first, self.first + self.count)


@dataclass(frozen=True, eq=False)
class SegmentResults:
    """All pieces of a case at one point, derivatives by the case's unknowns (physical) included.

    `Y` is (N, ny); `by_unknowns` (N, ny, m); `by_state` (N, ny, nx), each row by the states at the
    beginning of its own piece. `ends` are (nx,), their derivatives (nx, m) and (nx, nx).
    """

    nodes: Vector  # (K, nx), the first from the initial values of the model
    begin_by_unknowns: Vector  # (nx, m)
    Y: Vector
    by_unknowns: Vector
    by_state: Vector
    ends: tuple[Vector, ...]
    end_by_unknowns: tuple[Vector, ...]
    end_by_state: tuple[Vector, ...]

    @property
    def gaps(self) -> Vector:
        """(K − 1, nx): the end of each piece minus the beginning of the next."""
        if len(self.nodes) == 1:
            return np.zeros((0, self.nodes.shape[1]))
        return np.array(self.ends[:-1]) - self.nodes[1:]

    @property
    def growth(self) -> float:
        """The largest factor by which a piece spreads a disturbance of its start."""
        return max((float(np.linalg.norm(g, 2)) for g in self.end_by_state), default=0.0)


@dataclass(frozen=True, eq=False)
class SegmentTrajectories:
    """Trajectories of a case: states and algebraic unknowns, and states at the pieces' ends."""

    found: Vector  # (times, nx + nz)
    ends: Vector  # (K, nx)


class SegmentedCase:
    """One case that is simulated piece by piece."""

    def __init__(self, model: ModelicaModel, predictor: CasePredictor, count: int) -> None:
        require_restartable(model.equations)
        response = predictor.response
        assert isinstance(response, Response)
        self.predictor = predictor
        self.response = response
        equations = model.equations
        self._names = equations.system.states + equations.system.memories
        linked = response.configuration.tuning.wrt[: len(predictor.links.parameters)]
        # what only says where the case begins does not move a piece whose start is an unknown
        self._moving = [k for k, c in enumerate(linked) if not c.name.startswith("start(")]
        parameters = [linked[k] for k in self._moving]
        self._n_parameters = len(parameters)
        wrt = [*parameters, *(Constant(f"start({n})") for n in self._names)]
        self._tuning = tune(equations, wrt, response.configuration.tuning.given)
        self._places = [equations.constants.index(n) for n in self._tuning.independent]
        outputs = _outputs(equations, response.configuration.outputs)
        self._kernel = build_kernel(self._tuning.hybrid, outputs, sensitivities=True)
        self.recut(count)
        self.nx = len(self._names)
        self.scales = np.ones(self.nx)
        self._nominal = nominal_sizes(equations, self._names)
        self.columns = predictor.columns
        self._options = response.options

    def size_states(self, values: Vector, flown: SegmentResults | None = None) -> None:
        """Typical sizes of the states: nominal, or what the trajectories show."""
        try:
            seen = self.begun(values)[1].x[None, :]
        except SimulationError:
            seen = np.ones((1, self.nx))
        if flown is not None:
            seen = np.vstack([flown.nodes, *flown.ends])
        size = np.sqrt(np.mean(seen**2, axis=0))
        sizes = np.where(self._nominal > 0, self._nominal, size)
        self.scales = np.where(sizes > 0, sizes, 1.0)
        own = [self.response.options.tuner_scales[k] for k in self._moving]
        self._options = replace(self._options, tuner_scales=(*own, *map(float, self.scales)))

    def recut(self, count: int) -> None:
        """Cut into another number of pieces."""
        self.cut_at(evenly(self.predictor.times, self.response.begin, count))

    def cut_at(self, nodes: Vector) -> None:
        """Cut where the nodes are, the first of them the beginning."""
        self.segments = cut(self.predictor.times, self.response.pieces, nodes)

    def halve(self) -> bool:
        """Cut into twice as many pieces; False where there are no stamps left for that."""
        count = 2 * len(self.segments)
        if count > len(self.predictor.times) // 2:
            return False
        self.recut(count)
        return True

    def begun(self, values: Vector) -> tuple[Vector, engine.RunStart, Vector]:
        """(P, start of the first piece, d(start)/d(unknowns)) at values of all unknowns."""
        p = self.predictor
        tuners = values[list(p.places.tuners)]
        starts = values[list(p.places.starts.values())]
        parameters, chain = p.links.at(tuners)
        r = self.response
        theta = np.concatenate([parameters, starts])
        full = r.values.copy()
        tuning = r.configuration.tuning
        for c, value in zip(tuning.wrt, theta, strict=True):
            full[tuning.index[c.name]] = value * c.sign
        start = r.configuration.initialiser.start(full, r.begin, r.pieces.values[0])
        P, _, _ = self._tuning.prepare(start.P[self._places])
        n, linked = self._n_parameters, len(parameters)
        by_unknowns = np.hstack([start.S[:, :linked] @ chain, start.S[:, linked:]])
        seed = np.hstack([np.zeros((self.nx, n)), np.eye(self.nx)])
        return P, engine.RunStart(start.x, seed, start.z, start.d), by_unknowns

    def fly(self, values: Vector, nodes: Vector | None) -> SegmentResults | str:
        """All pieces from the states `nodes` (K − 1, nx); None: from what was measured."""
        try:
            P, start, begin_by_unknowns = self.begun(values)
        except SimulationError as error:
            return error.message
        _, chain = self.predictor.links.at(values[list(self.predictor.places.tuners)])
        log = _Log(self, chain[self._moving])
        for k, one in enumerate(self.segments):
            if k and nodes is not None:
                start = replace(start, x=nodes[k - 1])
            run = integrate(self._kernel, P, start, one.pieces, one.times, self._options)
            if k and nodes is None and run.samples:
                start = replace(start, x=self._measured(one, start.x, run, values))
                run = integrate(self._kernel, P, start, one.pieces, one.times, self._options)
            if not run.ok:
                return self._why(run)
            log.add(one, start.x, run)
            start = engine.RunStart(run.x.copy(), start.S, run.z.copy(), run.d.copy())
        return log.flown(begin_by_unknowns)

    def trajectories(
        self, values: Vector, nodes: Vector, times: Vector
    ) -> SegmentTrajectories | str:
        """States and algebraic unknowns at `times`, each piece from its own node."""
        h = self._tuning.hybrid
        P, start, _ = self.begun(values)
        values_at = np.empty((len(times), h.nx + h.nz))
        ends = np.empty((len(self.segments), h.nx))
        borders = np.array([s.begin for s in self.segments])
        options = replace(self._options, tuner_scales=())
        places = np.append(np.searchsorted(times, borders), len(times))
        places[0] = 0
        for k, one in enumerate(self.segments):
            x = nodes[k - 1] if k else start.x
            own = slice(places[k], places[k + 1])
            last = k + 1 == len(self.segments)
            grid = times[own] if last else np.append(times[own], borders[k + 1])
            begun = engine.RunStart(x, np.zeros((h.nx, 0)), start.z, start.d)
            run = integrate(self._plain, P, begun, one.pieces, grid, options)
            if not run.ok:
                return self._why(run)
            values_at[own] = run.Y[: places[k + 1] - places[k]]
            ends[k] = run.x
            start = replace(start, z=run.z.copy(), d=run.d.copy())
        if not np.isfinite(values_at).all():
            return f"a variable of '{self._tuning.equations.system.flat.name}' is not finite"
        return SegmentTrajectories(values_at, ends)

    def _why(self, run: Run) -> str:
        """Why a piece fails; the states at its start are tuners too."""
        return failure_text(self.response, run, self._tuning.wrt)

    @cached_property
    def _plain(self) -> Kernel:
        """The model without sensitivities, its outputs states and algebraic unknowns."""
        h = self._tuning.hybrid
        return build_kernel(h, ca.vertcat(h.x, h.z), sensitivities=False)

    def _measured(self, one: Segment, x: Vector, run: Run, values: Vector) -> Vector:
        """States that agree with the samples at the beginning of a piece.

        The smallest change of the states, in their typical sizes, that closes most of the gap.
        """
        rows, gaps = [], []
        for k, m in enumerate(self.predictor.record.outputs):
            j = int(np.searchsorted(m.time, one.begin))
            if j < len(m.time) and m.time[j] == one.begin:
                extra = self.predictor.extras[k]
                offset = values[extra] if extra is not None else 0.0
                rows.append(run.YS[0, k, self._n_parameters :] * self.scales / m.rms)
                gaps.append((m.value[j] - offset - run.Y[0, k]) / m.rms)
        if not rows or not (np.isfinite(rows).all() and np.isfinite(gaps).all()):
            return x
        A = np.vstack([np.array(rows), np.eye(self.nx) / TRUST])
        step = np.linalg.lstsq(A, np.concatenate([gaps, np.zeros(self.nx)]), rcond=None)[0]
        return np.asarray(x + step * self.scales, np.float64)


class _Log:
    """Collects the runs of the pieces."""

    def __init__(self, case: SegmentedCase, chain: Vector) -> None:
        self._chain = chain
        self._n, tuners = chain.shape
        self._extra = len(case.predictor.places.starts)
        N, ny = len(case.predictor.times), len(case.predictor.record.outputs)
        self._nx = case.nx
        self._Y = np.empty((N, ny))
        self._by_unknowns = np.zeros((N, ny, tuners + self._extra))
        self._by_state = np.empty((N, ny, case.nx))
        self._nodes: list[Vector] = []
        self._ends: list[tuple[Vector, Vector, Vector]] = []

    def add(self, one: Segment, x: Vector, run: Run) -> None:
        """Take over what a piece gave."""
        n, own = self._n, slice(0, one.count)
        self._Y[one.rows] = run.Y[own]
        self._by_unknowns[one.rows, :, : self._chain.shape[1]] = run.YS[own, :, :n] @ self._chain
        self._by_state[one.rows] = run.YS[own, :, n:]
        self._nodes.append(x)
        by_unknowns = np.hstack([run.S[:, :n] @ self._chain, np.zeros((self._nx, self._extra))])
        self._ends.append((run.x.copy(), by_unknowns, run.S[:, n:].copy()))

    def flown(self, begin_by_unknowns: Vector) -> SegmentResults | str:
        """All of it together, where it is finite."""
        ends, by_unknowns, by_state = zip(*self._ends, strict=True)
        parts = (self._Y, self._by_unknowns, self._by_state, *ends, *by_unknowns, *by_state)
        if not all(np.isfinite(a).all() for a in parts):
            return "an output, a state or a sensitivity is not finite"
        return SegmentResults(
            np.array(self._nodes), begin_by_unknowns, self._Y, self._by_unknowns, self._by_state,
            ends, by_unknowns, by_state,
        )  # fmt: skip


def evenly(times: Vector, begin: float, count: int) -> Vector:
    """Where `count` segments begin that have about the same number of stamps."""
    inner = times[times > begin]
    count = max(1, min(count, len(inner)))
    places = np.linspace(0, len(inner), count + 1)[1:-1].round().astype(int)
    return np.concatenate([[begin], np.unique(inner[places])])


def cut(times: Vector, pieces: Pieces, nodes: Vector) -> tuple[Segment, ...]:
    """Segments that begin at the nodes."""
    segments = []
    for k, a in enumerate(nodes):
        last = k + 1 == len(nodes)
        b = float(times[-1]) if last else float(nodes[k + 1])
        first, until = np.searchsorted(times, [a, b])
        until = len(times) if last else until
        grid = times[first:until] if last else np.append(times[first:until], b)
        inputs = _within(pieces, float(a), b, last)
        segments.append(
            Segment(float(a), np.ascontiguousarray(grid), inputs, int(first), int(until - first))
        )
    return tuple(segments)


def _within(pieces: Pieces, begin: float, end: float, last: bool) -> Pieces:
    after = int(np.searchsorted(pieces.starts, begin, side="right"))
    until = int(np.searchsorted(pieces.starts, end, side="right" if last else "left"))
    inside = slice(after, max(after, until))
    return Pieces(
        np.concatenate([[begin], pieces.starts[inside]]),
        np.ascontiguousarray(np.vstack([inputs_at(pieces, begin), pieces.values[inside]])),
        np.ascontiguousarray(np.vstack([pieces.slopes[max(after - 1, 0)], pieces.slopes[inside]])),
    )


def require_restartable(equations: Equations) -> None:
    """Refuse models whose past is more than their states."""
    system = equations.system
    where = f"multiple shooting cannot cut '{system.flat.name}' into pieces: "
    if not system.states:
        raise FitError("F044", where + "it has no states; use transcription = 'shooting'")
    if system.delays:
        raise FitError(
            "F045",
            where + f"'{write_expression(system.delays[0].expression, spell=str)}' is delayed, and "
            "what a delay remembers is not a state; use transcription = 'shooting'",
        )
    if system.free_parameters:
        raise FitError(
            "F046",
            where + f"'{system.free_parameters[0]}' is found by the initial equations "
            "(fixed = false); use transcription = 'shooting'",
        )
    beginning = _what_begins(system)
    if beginning:
        raise FitError(
            "F047",
            where + f"{beginning}, which would happen in every piece; "
            "use transcription = 'shooting'",
        )


def _what_begins(system: SortedSystem) -> str:
    """What a model does at the initial event or at the end only; empty where it does nothing."""
    flat = system.flat
    written = [side for e in flat.equations for side in (e.lhs, e.rhs)]
    for when in flat.whens:
        for branch in when.branches:
            written += [*branch.conditions, *(a.value for a in branch.actions)]
    for e in ex.walk(*written):
        if e.op in ("initial", "terminal"):
            return f"it uses {e.op}()"
    discrete = {*system.logicals, *system.memories}
    for equation in flat.initial_equations:
        set_ = sorted(ex.names_in(equation.lhs, equation.rhs) & discrete)
        if set_:
            return f"an initial equation sets '{set_[0]}'"
    return ""


def nominal_sizes(equations: Equations, names: Sequence[str]) -> Vector:
    """Nominal values of variables; 0 where the model gives none."""
    sizes = np.zeros(len(names))
    for k, name in enumerate(names):
        variable = equations.system.flat.by_name.get(name)
        if variable and variable.nominal is not None and variable.nominal.op == "const":
            sizes[k] = abs(variable.nominal.value)
    return sizes


def _outputs(equations: Equations, names: Sequence[str]) -> ca.SX:
    parts = [equations.value(n) for n in names]
    y = ca.densify(ca.vertcat(*parts)) if parts else ca.SX(0, 1)
    return ca.substitute(y, equations.homotopy, ca.SX(1))


def equations_of(setup: Setup, predictor: Predictor) -> ModelicaModel:
    """The model of a case, whose equations are known to be there."""
    case = predictor.record.case
    if case.staging:
        raise FitError(
            "F107",
            f"case '{case.name}' begins in the steady state or has changes, which only a "
            "simulation from beginning to end goes through; use transcription = 'shooting'",
        )
    model = setup.study.model_of(case)
    assert isinstance(model, ModelicaModel), "asked before"
    return model


def require_time_cases(cases: ResidualFunction, what: str) -> list[CasePredictor]:
    """The cases of a study, all of which must be simulated over time."""
    predictors = []
    for predictor in cases.predictors:
        if not isinstance(predictor, CasePredictor):
            raise FitError(
                "F106",
                f"case '{predictor.record.case.name}' is a frequency response, and {what} follows "
                "a model through time; use transcription = 'shooting'",
            )
        predictors.append(predictor)
    return predictors
