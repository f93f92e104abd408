"""What to tell a user about a run that ended early: when, in which state, because of what."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence

from estimica.compiled.equations import Equations
from estimica.compiled.model.interface import Evaluation, ModelResponse
from estimica.compiled.tuning import Constant
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.function import Check, functions_in, statements
from estimica.simulate.engine import status
from estimica.simulate.engine.result import Run
from estimica.simulate.response import Response
from estimica.structure.sorted_system import Assignment, Block

_CODES = {code: f"R{100 + code}" for code in status.TEXTS}

#: dry friction as a sign has no value at rest, where the force lies between its two
_FRICTION = (
    "dry friction as sign(v) chatters at rest: write tanh(v/v0) with v0 far below the speeds that "
    "matter, or take a friction of Modelica.Mechanics, which sticks; give other switches a "
    "hysteresis"
)
#: functions that jump without an event, so that the steps chatter instead of a relation
_JUMPS = re.compile(r"\b(sign|abs|noEvent)\s*\(")
#: assertions of functions that are told: more than a few are not read
_MOST_ASSERTIONS = 3
_ADVICE = {
    status.STEP_TOO_SMALL: "look at that equation, or try other start values or looser tolerances",
    status.TOO_MANY_STEPS: "try looser tolerances, or a larger max_steps; method='auto' tries the "
    "implicit method too",
    status.NOT_FINITE_START: "check the start values and parameters that this equation uses",
    status.ALGEBRAIC: "give start values (start=) of its unknowns nearer to the solution",
    status.SINGULAR: "the equations do not determine these unknowns at this point",
    status.ACCUMULATION: "let the model come to rest below a threshold",
    status.EVENT_ITERATION: "the discrete equations contradict one another at this point",
    status.CHATTERING: _FRICTION,
    status.CHECK_VIOLATED: "fix the model or its parameters",
    status.NOT_FINITE_OUTPUT: "check the expression of that output",
    status.DELAY_NOT_POSITIVE: "give the delay a positive duration",
}


def failure_text(
    response: ModelResponse, run: Evaluation, tuners: Sequence[Constant] | None = None
) -> str:
    """Why a run of any model failed, with equation and unknown where these are known."""
    if isinstance(response, Response) and isinstance(run, Run):
        return run_failure_text(response.configuration.tuning.equations, run, response, tuners)[1]
    from estimica.simulate.filter.response import FilterResponse  # few models need it

    if isinstance(response, FilterResponse) and isinstance(run, Run):
        advice = _ADVICE.get(run.status, "")
        message = f"the filter stopped at time {run.time:g}: {run.text}"
        return f"{message}; {advice}" if advice else message
    return run.text


def run_failure_text(
    equations: Equations,
    run: Run,
    response: Response,
    tuners: Sequence[Constant] | None = None,
) -> tuple[str, str]:
    """(code, message) of a failed run; `tuners` are those of the response, unless they differ."""
    if run.status == status.CHECK_VIOLATED:
        return _CODES[run.status], _assertion(equations, run)
    if run.termination is not None:
        return _CODES[run.status], run.termination.missing(run.times, run.samples)
    known = response.configuration.tuning.wrt if tuners is None else tuners
    blame = _blame(equations, run, response, known)
    jumps = run.status in (status.STEP_TOO_SMALL, status.TOO_MANY_STEPS) and _JUMPS.search(blame)
    advice = _FRICTION if jumps else _ADVICE.get(run.status, "")
    message = f"the simulation stopped at time {run.time:g}: {run.text}"
    if blame:
        message += f"; {blame}"
    message += f"; state there: {_state(equations, run)}"
    told = _asserted(equations, run)
    if told:
        message += f"; a function that is called there stops where what it asserts fails: {told}"
    if run.failed_call:
        return _CODES[run.status], f"{message}; the last call that failed: {run.failed_call}"
    return _CODES[run.status], f"{message}; {advice}" if advice else message


def _assertion(equations: Equations, run: Run) -> str:
    found = [a for a in equations.system.assertions if a.fails]
    if 0 <= run.index < len(found):
        a = found[run.index]
        return f"an assertion failed at time {run.time:g}: {a.message} ({a.origin})"
    return f"a check failed at time {run.time:g}"


def _asserted(equations: Equations, run: Run) -> str:
    """What functions assert on whose results the blamed unknown depends, the nearest first.

    A function whose assertion fails has no result, so that the step that calls it is given up.
    """
    carried = equations.system.states + equations.system.memories
    if run.status in (status.STEP_TOO_SMALL, status.NOT_FINITE_START):
        known, prefix = carried, "der({})"
    elif run.status == status.ALGEBRAIC:
        known, prefix = equations.torn, "{}"
    else:
        return ""
    if not 0 <= run.index < len(known):
        return ""
    found: dict[str, None] = {}
    for value in _values_below(equations, prefix.format(known[run.index])):
        for function in functions_in(value):
            for s in statements(function.body):
                if isinstance(s, Check) and s.message:
                    found[f"'{s.message}' ({function.name})"] = None
        if len(found) >= _MOST_ASSERTIONS:
            break
    return ", ".join(list(found)[:_MOST_ASSERTIONS])


def _values_below(equations: Equations, unknown: str) -> Iterator[Expression]:
    """What an unknown is computed from, nearest first."""
    sources: dict[str, tuple[Expression, ...]] = {}
    for block in equations.system.blocks:
        if isinstance(block, Assignment):
            sources[block.unknown] = (block.value,)
        else:
            sources.update((a.unknown, (a.value,)) for a in block.inner)
            sources.update(dict.fromkeys(block.torn, block.residuals))
    waiting, seen = deque([unknown]), {unknown}
    while waiting:
        for value in sources.get(waiting.popleft(), ()):
            yield value
            for e in ex.walk(value):
                name = e.target if e.op == "name" else f"der({e.target})" if e.op == "der" else ""
                if name and name not in seen:
                    seen.add(name)
                    waiting.append(name)


def _state(equations: Equations, run: Run) -> str:
    names = (equations.system.states + equations.system.memories)[: len(run.x)]
    pairs = [f"{n} = {v:.6g}" for n, v in zip(names, run.x, strict=False)]
    return ", ".join(pairs[:6]) + (" …" if len(pairs) > 6 else "") if pairs else "none"


def _blame(equations: Equations, run: Run, response: Response, tuners: Sequence[Constant]) -> str:
    """The likely equation, unknown, relation or output, in the user's words."""
    system, k = equations.system, run.index
    carried = system.states + system.memories
    if run.status in (status.STEP_TOO_SMALL, status.NOT_FINITE_START, status.TOO_MANY_STEPS):
        if not 0 <= k < len(carried):
            return ""
        tuner = ""
        if 0 <= run.tuner < len(tuners):
            tuner = f" (its sensitivity to '{tuners[run.tuner].name}')"
        origin = _origin(equations, f"der({carried[k]})")
        return f"worst is '{carried[k]}'{tuner}" + (f", {origin}" if origin else "")
    if run.status in (status.ALGEBRAIC, status.SINGULAR) and 0 <= k < len(equations.torn):
        origin = _origin(equations, equations.torn[k])
        told = f"worst is the equation for '{equations.torn[k]}'" + (
            f", {origin}" if origin else ""
        )
        return told + _others(equations, equations.torn[k])
    if run.status in (status.ACCUMULATION, status.CHATTERING, status.EVENT_ITERATION):
        return _switching(equations, k)
    if run.status == status.NOT_FINITE_OUTPUT and 0 <= k < len(response.configuration.outputs):
        return f"output '{response.configuration.outputs[k]}'"
    return ""


def rest_notes(equations: Equations, run: Run) -> tuple[str, ...]:
    """The relations that were let rest near zero in this run, in the user's words."""
    relations, order = equations.system.relations, equations.state_modes
    return tuple(
        f"at time {r.time:.6g} the {relations[order[r.index]].origin} changed again and again, and "
        f"was let rest for a while: changes within {r.width:.3g} of zero were not followed then; "
        "compare with a run at a smaller rtol"
        for r in run.rests
    )


def _switching(equations: Equations, k: int) -> str:
    """Relation or logical number k of the modes, with its equation."""
    system, order = equations.system, equations.state_modes + equations.time_modes
    if 0 <= k < len(order):
        return f"at the {system.relations[order[k]].origin}"
    logicals = {a.unknown: str(a.origin) for a in system.logical_equations}
    name = system.logicals[k - len(order)] if 0 <= k - len(order) < len(system.logicals) else ""
    if not name or name.startswith("$"):
        return ""
    return f"'{name}' goes on changing, {logicals[name]}"


def _origin(equations: Equations, unknown: str) -> str:
    for block in equations.system.blocks:
        if isinstance(block, Assignment) and block.unknown == unknown:
            return str(block.origin)
        if isinstance(block, Block) and unknown in block.unknowns:
            for a in block.inner:
                if a.unknown == unknown:
                    return str(a.origin)
            places = dict(zip(block.torn, block.origins, strict=False))
            return str(places.get(unknown, ""))
    return ""


#: unknowns of a block that a message names (chosen: what fits on a line or two)
_NAMED = 5


def _others(equations: Equations, unknown: str) -> str:
    """The unknowns that must be solved together with one."""
    for block in equations.system.blocks:
        if isinstance(block, Block) and unknown in block.torn and len(block.unknowns) > 1:
            others = [n for n in block.unknowns if n != unknown]
            listed = ", ".join(f"'{n}'" for n in others[:_NAMED])
            more = len(others) - _NAMED
            return f"; solved together with {listed}" + (f" and {more} more" if more > 0 else "")
    return ""
