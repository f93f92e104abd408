"""Scalar expressions: immutable, shared nodes that every later stage walks by identity.

A node is an operation and its arguments. Leaves carry their data in `args`:

    const (value,)      a number; Booleans are 0.0 and 1.0, enumerations their ordinal
    name  (name,)       a variable or parameter of the system
    der   (name,)       the time derivative of a variable
    pre   (name,)       the value of a variable just before the event instant
    time  ()            the independent variable
    initial (), terminal ()     flags of the event instant
    mode  (index,)      the frozen truth value of a relation (made by the structure stage)

A `call` carries the function and the number of the output before its operands. Equal nodes are
the same object, so `is` compares expressions and memo tables key on nodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator
from weakref import WeakValueDictionary

Argument = "Expression | float | str | int"


class Expression:
    """One node. Build it through the functions of this module, never directly."""

    __slots__ = ("__weakref__", "args", "op")
    op: str
    args: tuple[object, ...]

    def __repr__(self) -> str:
        return _shown(self, 6)

    @property
    def operands(self) -> tuple[Expression, ...]:
        """The arguments that are expressions themselves (none for a leaf)."""
        op = self.op
        if op in LEAVES:
            return ()
        return self.args if op != "call" else self.args[2:]  # type: ignore[return-value]

    @property
    def value(self) -> float:
        """The number of a `const` leaf."""
        assert self.op == "const"
        return self.args[0]  # type: ignore[return-value]

    @property
    def target(self) -> str:
        """The variable's name of a `name`, `der` or `pre` leaf."""
        assert self.op in ("name", "der", "pre")
        return self.args[0]  # type: ignore[return-value]


def _shown(e: object, depth: int) -> str:
    """Shared nodes make a whole expression far too long to be written out."""
    if not isinstance(e, Expression):
        return repr(e)
    if depth == 0:
        return "…"
    return f"{e.op}({', '.join(_shown(a, depth - 1) for a in e.args)})"


LEAVES = frozenset({"const", "name", "der", "pre", "time", "initial", "terminal", "mode"})
RELATIONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
#: one-argument functions that mean the same in Modelica, CasADi and NumPy
ELEMENTARY = frozenset(
    [
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "exp",
        "log",
        "log10",
        "sqrt",
        "abs",
    ]
)
#: functions with jumps: outside noEvent each becomes an event
STEPWISE = frozenset(["sign", "floor", "ceil", "integer", "idiv", "mod", "rem"])
#: operators that carry their first argument through and only guide the tools
WRAPPERS = frozenset({"noEvent", "smooth", "homotopy"})
OPERATIONS = (
    LEAVES
    | RELATIONS
    | ELEMENTARY
    | STEPWISE
    | WRAPPERS
    | frozenset(
        [
            "add",
            "sub",
            "mul",
            "div",
            "pow",
            "neg",
            "and",
            "or",
            "not",
            "if",
            "min",
            "max",
            "atan2",
            "sample",
            "delay",
            "edge",
            "change",
        ]
    )
    # table(u, x1, y1, x2, y2, ...; kind in the op name): values and slope of a 1-D table
    | frozenset({"table", "table_slope"})
    # element(i, a1, a2, ...): a_i, the last one beyond the end
    | frozenset({"element"})
    # call(function, output, a1, a2, ...): one output of a function that is kept as such
    | frozenset({"call"})
)

_nodes: WeakValueDictionary[tuple[object, ...], Expression] = WeakValueDictionary()


def node(op: str, *args: object) -> Expression:
    """The shared node for `op` and `args`, without any simplification."""
    key = (op, *(id(a) if isinstance(a, Expression) else (type(a), a) for a in args))
    known = _nodes.get(key)
    if known is None:
        assert op in OPERATIONS, op
        known = Expression()
        known.op, known.args = op, args
        _nodes[key] = known
    return known


def shared(op: str, operands: tuple[Expression, ...]) -> Expression:
    """`node` for an operation on expressions only, quickly: large tables of them are read."""
    key = (op, *map(id, operands))
    known = _nodes.get(key)
    if known is None:
        assert op in OPERATIONS, op
        known = Expression()
        known.op, known.args = op, operands
        _nodes[key] = known
    return known


def const(value: float) -> Expression:
    """A number."""
    number = float(value)
    key = ("const", (float, number))  # as `node` has it, quickly: tables hold many numbers
    known = _nodes.get(key)
    if known is None:
        known = Expression()
        known.op, known.args = "const", (number,)
        _nodes[key] = known
    return known


def name(variable: str) -> Expression:
    """A variable's value."""
    return node("name", variable)


def der(variable: str) -> Expression:
    """A variable's time derivative."""
    return node("der", variable)


def pre(variable: str) -> Expression:
    """A variable's value just before the event."""
    return node("pre", variable)


TIME = node("time")
INITIAL = node("initial")
TERMINAL = node("terminal")
ZERO = const(0.0)
ONE = const(1.0)


def is_const(e: Expression, value: float | None = None) -> bool:
    """Whether `e` is a number (that number)."""
    return e.op == "const" and (value is None or e.args[0] == value)


def add(a: Expression, b: Expression) -> Expression:
    """a + b."""
    if is_const(a, 0.0):
        return b
    if is_const(b, 0.0):
        return a
    if b.op == "neg":
        return sub(a, b.operands[0])
    return _folded("add", a, b)


def sub(a: Expression, b: Expression) -> Expression:
    """a - b."""
    if is_const(b, 0.0):
        return a
    if is_const(a, 0.0):
        return neg(b)
    if a is b:
        return ZERO
    return _folded("sub", a, b)


def mul(a: Expression, b: Expression) -> Expression:
    """a · b."""
    for x, y in ((a, b), (b, a)):
        if is_const(x, 0.0):
            return ZERO
        if is_const(x, 1.0):
            return y
        if is_const(x, -1.0):
            return neg(y)
    return _folded("mul", a, b)


def div(a: Expression, b: Expression) -> Expression:
    """a / b; a division by the constant zero is kept, so that it fails where it is evaluated."""
    if is_const(b, 1.0):
        return a
    if is_const(a, 0.0) and not is_const(b, 0.0):
        return ZERO
    return _folded("div", a, b)


def power(a: Expression, b: Expression) -> Expression:
    """a ^ b."""
    if is_const(b, 1.0):
        return a
    if is_const(b, 0.0):
        return ONE
    return _folded("pow", a, b)


def neg(a: Expression) -> Expression:
    """-a."""
    if a.op == "neg":
        return a.operands[0]
    return _folded("neg", a)


def relation(op: str, a: Expression, b: Expression) -> Expression:
    """a `op` b for op in lt, le, gt, ge, eq, ne."""
    return _folded(op, a, b)


def logical_and(a: Expression, b: Expression) -> Expression:
    """a and b."""
    if is_const(a):
        return b if a.value else ZERO
    if is_const(b):
        return a if b.value else ZERO
    return a if a is b else node("and", a, b)


def logical_or(a: Expression, b: Expression) -> Expression:
    """a or b."""
    if is_const(a):
        return ONE if a.value else b
    if is_const(b):
        return ONE if b.value else a
    return a if a is b else node("or", a, b)


def logical_not(a: Expression) -> Expression:
    """not a."""
    if a.op == "not":
        return a.operands[0]
    return _folded("not", a)


def conditional(condition: Expression, yes: Expression, no: Expression) -> Expression:
    """if condition then yes else no."""
    if is_const(condition):
        return yes if condition.value else no
    return yes if yes is no else node("if", condition, yes, no)


def call(op: str, *args: Expression) -> Expression:
    """An elementary function, folded where all its arguments are numbers."""
    return _folded(op, *args)


def total(terms: Iterable[Expression]) -> Expression:
    """The sum of `terms`; 0 for none."""
    result = ZERO
    for term in terms:
        result = add(result, term)
    return result


def _truncated(a: float) -> float:
    return float(math.floor(a) if a >= 0 else math.ceil(a))


_FOLD: dict[str, Callable[..., float]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": lambda a, b: a**b,
    "neg": lambda a: -a,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "not": lambda a: not a,
    "min": min,
    "max": max,
    "abs": abs,
    "sign": lambda a: (a > 0) - (a < 0),
    "floor": math.floor,
    "integer": math.floor,
    "ceil": math.ceil,
    "idiv": lambda a, b: _truncated(a / b),
    "mod": lambda a, b: a - math.floor(a / b) * b,
    "rem": lambda a, b: a - _truncated(a / b) * b,
    "atan2": math.atan2,
    **{f: getattr(math, f) for f in ELEMENTARY - {"abs"}},
}


def fold(op: str, *values: float) -> float | None:
    """The number `op(values)`, or None where it has none (a domain error, an overflow)."""
    try:
        result = _FOLD[op](*values)
    except (KeyError, ValueError, ZeroDivisionError, OverflowError):
        return None
    return float(result) if isinstance(result, (int, float)) and math.isfinite(result) else None


def _folded(op: str, *args: Expression) -> Expression:
    if all(a.op == "const" for a in args):
        value = fold(op, *(a.value for a in args))
        if value is not None:
            return const(value)
    return node(op, *args)


def build(op: str, *args: Expression) -> Expression:
    """The simplified node for any operation: what a rewriting pass calls on mapped arguments."""
    maker = _MAKERS.get(op)
    if maker is not None:
        return maker(*args)
    if op in _FOLD:
        return _folded(op, *args)
    return node(op, *args)


def rebuild(e: Expression, operands: Iterable[Expression]) -> Expression:
    """The node `e` with other operands, simplified."""
    if e.op == "call":
        return node("call", e.args[0], e.args[1], *operands)
    return build(e.op, *operands)


_MAKERS: dict[str, Callable[..., Expression]] = {
    "add": add,
    "sub": sub,
    "mul": mul,
    "div": div,
    "pow": power,
    "neg": neg,
    "and": logical_and,
    "or": logical_or,
    "not": logical_not,
    "if": conditional,
}


def written_size(e: Expression) -> int:
    """How many parts an expression has when it is written out, shared ones each time again."""
    sizes: dict[Expression, int] = {}
    for part in walk(e):
        sizes[part] = 1 + sum(sizes[a] for a in part.operands)
    return sizes[e]


def walk(*roots: Expression, known: Container[object] = ()) -> Iterator[Expression]:
    """Every node below `roots` once, operands before the nodes that use them.

    What is in `known`, which may grow meanwhile, is left out with all that only it needs.
    """
    seen: set[Expression] = set()
    stack: list[tuple[Expression, bool]] = [(r, False) for r in reversed(roots)]
    while stack:
        e, ready = stack.pop()
        if e in seen or e in known:
            continue
        if ready or not e.operands:
            seen.add(e)
            yield e
            continue
        stack.append((e, True))
        stack.extend((a, False) for a in reversed(e.operands) if a not in seen)


def rewrite(
    roots: Iterable[Expression],
    leaf: Callable[[Expression], Expression],
    memo: dict[Expression, Expression] | None = None,
) -> list[Expression]:
    """`roots` with every leaf replaced by `leaf(it)` and every node simplified again.

    Pass the same `memo` for several calls with the same `leaf` to share the work.
    """
    memo = {} if memo is None else memo
    roots = list(roots)
    pending = [r for r in roots if r not in memo]
    for e in walk(*pending, known=memo):
        memo[e] = rebuild(e, [memo[a] for a in e.operands]) if e.operands else leaf(e)
    return [memo[r] for r in roots]


def names_in(*roots: Expression) -> set[str]:
    """The variables whose value, derivative or previous value stands below `roots`."""
    return {e.target for e in walk(*roots) if e.op in ("name", "der", "pre")}
