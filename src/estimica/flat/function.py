"""FlatFunction: a function that stays one, as scalar statements over names of its own.

Arrays and records are taken apart into scalars as everywhere in a flat system; what is left are
assignments, choices, loops whose end only a run knows, and returns. Equal functions are the same
object, so that a function is compiled, differentiated and written once however often it is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary, WeakValueDictionary

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.foreign import LINEAR, is_python

#: rounds that all loops of one call may take together; an iteration that converges takes tens, so
#: that a call with more of them is one that never ends
MOST_ROUNDS = 100_000


@dataclass(frozen=True, slots=True)
class Assign:
    """All values are computed before the first target is set."""

    targets: tuple[str, ...]
    values: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """`if condition then yes else no`; only one side is executed."""

    condition: Expression
    yes: tuple[Statement, ...]
    no: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class Loop:
    """`while condition loop body`."""

    condition: Expression
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Break:
    """Leaves the innermost loop."""


@dataclass(frozen=True, slots=True)
class Return:
    """Leaves the function."""


@dataclass(frozen=True, slots=True)
class Check:
    """The call fails where the condition does not hold: all its outputs are NaN."""

    condition: Expression
    message: str = ""


@dataclass(frozen=True, slots=True)
class Foreign:
    """An algorithm that is no formula: it has a twin here and in machine code."""

    twin: str
    targets: tuple[str, ...]
    arguments: tuple[Expression, ...]


Statement = Assign | Choice | Loop | Break | Return | Check | Foreign


@dataclass(frozen=True, slots=True)
class GivenDerivative:
    """The derivative that the author of a function gives.

    `function` takes all inputs, then the changes of the inputs numbered `moving`, and gives the
    change of each output. What the other inputs change is accounted for in it or does not count.
    """

    function: FlatFunction
    moving: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class FlatFunction:
    """Make it by `flat_function`. Inputs are never assigned; what is not yet assigned is 0."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    body: tuple[Statement, ...]
    derivative: GivenDerivative | None = None
    whole: tuple[int, ...] = ()  # outputs that are whole numbers or truth values: they only jump

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(self.inputs)})"


_functions: WeakValueDictionary[tuple[object, ...], FlatFunction] = WeakValueDictionary()


def flat_function(
    name: str,
    inputs: Iterable[str],
    outputs: Iterable[str],
    body: Iterable[Statement],
    derivative: GivenDerivative | None = None,
    whole: Iterable[int] = (),
) -> FlatFunction:
    """The function with this content."""
    content = (
        name, tuple(inputs), tuple(outputs), tuple(body), derivative, tuple(whole),
    )  # fmt: skip
    known = _functions.get(content)
    if known is None:
        known = FlatFunction(*content)
        _functions[content] = known
    return known


def invoke(function: FlatFunction, arguments: Iterable[Expression]) -> tuple[Expression, ...]:
    """All outputs of a call."""
    given = tuple(arguments)
    assert len(given) == len(function.inputs) > 0, f"{function} with {len(given)} arguments"
    return tuple(ex.node("call", function, k, *given) for k in range(len(function.outputs)))


def called(e: Expression) -> tuple[FlatFunction, int]:
    """The function and the number of the output of a `call`."""
    function, output = e.args[:2]
    assert isinstance(function, FlatFunction)
    assert isinstance(output, int)
    return function, output


def statements(body: Iterable[Statement]) -> Iterator[Statement]:
    """All statements, those of inner bodies after the one that holds them."""
    for s in body:
        yield s
        match s:
            case Choice():
                yield from statements(s.yes)
                yield from statements(s.no)
            case Loop():
                yield from statements(s.body)


def expressions_of(s: Statement) -> tuple[Expression, ...]:
    """What stands in a statement itself, not in its inner bodies."""
    match s:
        case Assign():
            return s.values
        case Choice() | Loop() | Check():
            return (s.condition,)
        case Foreign():
            return s.arguments
        case _:
            return ()


def assigned_names(body: Iterable[Statement]) -> tuple[str, ...]:
    """What the body assigns, each name once, in the order of the text."""
    targets = (s.targets for s in statements(body) if isinstance(s, (Assign, Foreign)))
    return tuple(dict.fromkeys(n for names in targets for n in names))


def functions_in(*roots: Expression) -> tuple[FlatFunction, ...]:
    """The functions that are called below `roots`, each after those that it calls itself."""
    found: dict[FlatFunction, None] = {}
    for e in ex.walk(*roots):
        if e.op == "call":
            function = called(e)[0]
            if function not in found:
                found.update(dict.fromkeys(with_callees(function)))
    return tuple(found)


def with_callees(function: FlatFunction) -> tuple[FlatFunction, ...]:
    """What a function calls, and then itself; a function never calls itself."""
    inner = [e for s in statements(function.body) for e in expressions_of(s)]
    return (*functions_in(*inner), function)


_dependencies: WeakKeyDictionary[FlatFunction, dict[str, frozenset[int]]] = WeakKeyDictionary()


def dependencies(function: FlatFunction) -> dict[str, frozenset[int]]:
    """For every name, the numbers of the inputs by whose value it is computed (not chosen)."""
    known = _dependencies.get(function)
    if known is None:
        known = _dependencies[function] = _found_dependencies(function)
    return known


def _found_dependencies(function: FlatFunction) -> dict[str, frozenset[int]]:
    found = {n: frozenset({k}) for k, n in enumerate(function.inputs)}
    none: frozenset[int] = frozenset()
    needs = [
        (target, ex.names_in(value))
        for s in statements(function.body)
        if isinstance(s, Assign)
        for target, value in zip(s.targets, s.values, strict=True)
    ]
    needs += [
        (target, ex.names_in(*s.arguments))
        for s in statements(function.body)
        if isinstance(s, Foreign) and (s.twin in LINEAR or is_python(s.twin))
        for target in s.targets
    ]
    changed = True
    while changed:  # a loop may carry what is assigned last to what is assigned first
        changed = False
        for target, names in needs:
            before = found.get(target, none)
            new = before.union(*(found.get(n, none) for n in names))
            if len(new) > len(before):
                found[target] = new
                changed = True
    return found


def influences(function: FlatFunction) -> dict[str, frozenset[int]]:
    """For every name, the numbers of the inputs that may make any difference to it."""
    none: frozenset[int] = frozenset()
    found = dependencies(function)
    body = list(statements(function.body))
    decisive = [s.condition for s in body if isinstance(s, (Choice, Loop, Check))]
    for s in body:
        decisive += s.arguments if isinstance(s, Foreign) else ()
        decisive += [e.operands[0] for v in expressions_of(s) for e in ex.walk(v) if e.op == "if"]
    by_choice = none.union(*(found.get(n, none) for n in ex.names_in(*decisive)))
    names = (*function.outputs, *assigned_names(function.body))
    return {n: found.get(n, none) | by_choice for n in names}


def searching_inputs(function: FlatFunction) -> frozenset[int]:
    """The inputs that decide about the way through a loop, as in a search by bisection."""
    found = dependencies(function)
    loops = [s for s in statements(function.body) if isinstance(s, Loop)]
    inside = [x for s in loops for x in (s, *statements(s.body)) if isinstance(x, (Choice, Loop))]
    names = ex.names_in(*(s.condition for s in inside))
    none: frozenset[int] = frozenset()
    return none.union(*(found.get(n, none) for n in names))


def bracketed_inputs(function: FlatFunction) -> frozenset[int]:
    """The inputs that give what a search begins with and decide its way, but that no round uses.

    A bisection between ends that depend on an input: what was executed has the slope of the ends,
    the result has another.
    """
    found = dependencies(function)
    none: frozenset[int] = frozenset()
    needed = _computed_from(function)
    begun, used = none, none
    for loop in (s for s in statements(function.body) if isinstance(s, Loop)):
        inside = set(assigned_names(loop.body))
        ends = none.union(*(found.get(n, none) for n in inside & needed))
        for s in statements(loop.body):
            if isinstance(s, Choice) and needed.intersection(assigned_names([*s.yes, *s.no])):
                deciding = (found.get(n, none) for n in ex.names_in(s.condition))
                begun |= ends & none.union(*deciding)
            elif isinstance(s, Assign):
                pairs = zip(s.targets, s.values, strict=True)
                fresh = ex.names_in(*(v for t, v in pairs if t in needed)) - inside
                used |= none.union(*(found.get(n, none) for n in fresh))
    return begun - used


def _computed_from(function: FlatFunction) -> set[str]:
    """The names by whose values the outputs are computed."""
    sources: dict[str, set[str]] = {}
    for s in statements(function.body):
        if isinstance(s, Assign):
            for target, value in zip(s.targets, s.values, strict=True):
                sources.setdefault(target, set()).update(ex.names_in(value))
        elif isinstance(s, Foreign):
            for target in s.targets:
                sources.setdefault(target, set()).update(ex.names_in(*s.arguments))
    needed: set[str] = set()
    waiting = list(function.outputs)
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting += sources.get(name, ())
    return needed
