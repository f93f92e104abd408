"""Taylor: the outputs of a model as power series in time, with their exact dependence on unknowns.

The series is that of the solution from its start, under inputs that are polynomials. Of a model
with events it holds until the first of them: what it tells is true, and more may come later. Models
with discrete variables, delays or implicit starts have none and say so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.infer.identifiability.structural.series import ONE, ZERO, Dual, Loop, Node, Series
from estimica.structure.sorted_system import Assignment, Block, SortedSystem

#: largest exponent that is written as products, which hold at a base of zero too; the series of a
#: power divides by its base. Chosen: each product costs as much as the power itself
LEAF, MOST_POWER = "leaf", 12


class NoSeriesError(Exception):
    """Why the solution of a model has no series, in words."""


@dataclass(frozen=True)
class Experiment:
    """What one case does to the model: values of constants, starts, inputs, and its unknowns.

    Inputs are coefficients of powers of (t − begin)/duration; unknowns are parameters and, by the
    names of states, start values.
    """

    unknowns: tuple[str, ...]
    values: Mapping[str, float]
    inputs: Mapping[str, Sequence[float]]
    begin: float
    duration: float


@dataclass(frozen=True)
class Constant:
    """A parameter or start value: its node, the node that gives its value, and what that needs."""

    name: str
    node: int
    bound: int | None
    needed: range


class TaylorModel:
    """A sorted system as a graph of operations."""

    def __init__(self, system: SortedSystem, outputs: Sequence[str]) -> None:
        _require_smooth(system)
        self.system = system
        self.nodes: list[Node] = []
        self._memo: dict[Expression, int] = {}
        self._names: dict[str, int] = {}
        self.time = self._leaf(still=False)
        self.constants = [self._bound(n, system.bindings.get(n), True) for n in system.parameters]
        self.inputs = {n: self._named(n, still=False) for n in system.inputs}
        self.starts = [self._bound(n, system.starts.get(n), False) for n in system.states]
        self.steps: list[range | Loop] = []
        for block in system.blocks:
            self._write(block)
        begun = len(self.nodes)
        self.outputs = [self._value(n) for n in outputs]
        self.slopes = [self._names[f"der({n})"] for n in system.states]
        self.steps.append(range(begun, len(self.nodes)))

    @property
    def ends_early(self) -> str:
        """Why the series does not tell of the whole solution; empty where it does."""
        return "it has events" if self.system.relations else ""

    def series(self, experiment: Experiment, order: int) -> SeriesOfOutputs:
        """The series of one experiment, to be advanced order by order."""
        return SeriesOfOutputs(self, experiment, order)

    # -- building --------------------------------------------------------------------------------

    def _write(self, block: Assignment | Block) -> None:
        begun = len(self.nodes)
        if isinstance(block, Assignment):
            self._names[block.unknown] = self._written(block.value)
            self.steps.append(range(begun, len(self.nodes)))
            return
        if not block.linear:
            raise NoSeriesError("its equations must be solved by iteration")
        unknowns = tuple(self._named(n, still=False) for n in block.torn)
        begun = len(self.nodes)
        for a in block.inner:
            self._names[a.unknown] = self._written(a.value)
        residuals = tuple(self._written(r) for r in block.residuals)
        self.steps.append(Loop(unknowns, range(begun, len(self.nodes)), residuals))

    def _value(self, name: str) -> int:
        if name == "time":
            return self.time
        if name not in self._names:
            alias = self.system.aliases.get(name)
            if alias is None:
                raise NoSeriesError(f"'{name}' is not computed by its equations")
            self._names[name] = self._written(alias)
        return self._names[name]

    def _leaf(self, still: bool) -> int:
        return self._node(LEAF, (), still)

    def _named(self, name: str, still: bool) -> int:
        self._names[name] = self._leaf(still)
        return self._names[name]

    def _bound(self, name: str, value: Expression | None, still: bool) -> Constant:
        """A constant, or the start of a state, that follows from earlier ones."""
        begun = len(self.nodes)
        bound = None if value is None else self._written(value)
        needed = range(begun, len(self.nodes))
        return Constant(name, self._named(name, still), bound, needed)

    def _node(
        self, op: str, operands: tuple[int, ...], still: bool | None = None, number: Decimal = ZERO
    ) -> int:
        if still is None:
            still = all(self.nodes[o].still for o in operands)
        self.nodes.append(Node(op, operands, still, number))
        return len(self.nodes) - 1

    def _number(self, value: float) -> int:
        return self._node("number", (), True, Decimal(value))

    def _written(self, root: Expression) -> int:
        for e in ex.walk(root):
            if e not in self._memo:
                self._memo[e] = self._one(e)
        return self._memo[root]

    def _one(self, e: Expression) -> int:
        if e.op == "const":
            return self._number(e.value)
        if e.op == "name":
            return self._value(e.target)
        if e.op == "der":
            return self._names[f"der({e.target})"]
        if e.op == "time":
            return self.time
        if e.op == "mode":
            return self._mode(int(str(e.args[0])))
        operands = tuple(self._memo[o] for o in e.operands)
        if e.op in ("noEvent", "smooth", "homotopy"):
            return operands[0]
        if e.op == "pow":
            return self._power(*operands)
        if e.op in _COMPOSED:
            return _COMPOSED[e.op](self, *operands)
        if e.op in _PLAIN:
            return self._node(e.op, operands)
        raise NoSeriesError(f"it uses '{e.op}'")

    def _mode(self, number: int) -> int:
        """A relation as it stands at the start: it keeps its truth until the first event."""
        relation = self.system.relations[number]
        operands = self._written(relation.difference), self._number(0.0)
        return self._node("gt" if relation.strict else "ge", operands)

    def _power(self, a: int, b: int) -> int:
        exponent = self.nodes[b]
        if exponent.op != "number":
            return self._node("exp", (self._node("mul", (b, self._logarithm(a))),))
        r = exponent.number
        if r != r.to_integral_value() or not 0 <= r <= MOST_POWER:
            return self._node("power", (a,), None, r)
        found = self._number(1.0) if r == 0 else a
        for _ in range(int(r) - 1):
            found = self._node("mul", (found, a))
        return found

    def _logarithm(self, a: int) -> int:
        return self._node("log", (a, a))

    def _root(self, a: int) -> int:
        return self._node("power", (a,), None, Decimal("0.5"))

    def _wave(self, a: int, sine: bool) -> int:
        still = self.nodes[a].still
        n = len(self.nodes)
        self._node("sin", (a, n + 1), still)
        self._node("cos", (a, n), still)
        return n if sine else n + 1

    def _tangent(self, a: int) -> int:
        sine = self._wave(a, sine=True)
        return self._node("div", (sine, sine + 1))

    def _exponentials(self, a: int, sign: str) -> int:
        plus = self._node("exp", (a,))
        minus = self._node("div", (self._number(1.0), plus))
        return self._node("mul", (self._number(0.5), self._node(sign, (plus, minus))))

    def _tanh(self, a: int) -> int:
        pair = self._exponentials(a, "sub"), self._exponentials(a, "add")
        return self._node("div", pair)

    def _arctangent(self, a: int) -> int:
        slope = self._node("add", (self._number(1.0), self._node("mul", (a, a))))
        return self._node("atan", (a, slope))

    def _arcsine(self, a: int) -> int:
        rest = self._node("sub", (self._number(1.0), self._node("mul", (a, a))))
        return self._node("asin", (a, self._root(rest)))

    def _decades(self, a: int) -> int:
        ten = self._logarithm(self._number(10.0))
        return self._node("div", (self._logarithm(a), ten))


_PLAIN = frozenset(
    ["add", "sub", "mul", "div", "neg", "exp", "abs", "min", "max", "if", "lt", "le", "gt", "ge",
     "eq", "ne", "and", "or", "not", "sign"]
)  # fmt: skip
_COMPOSED: dict[str, Callable[..., int]] = {
    "log": TaylorModel._logarithm,
    "sqrt": TaylorModel._root,
    "sin": lambda m, a: m._wave(a, True),
    "cos": lambda m, a: m._wave(a, False),
    "tan": TaylorModel._tangent,
    "sinh": lambda m, a: m._exponentials(a, "sub"),
    "cosh": lambda m, a: m._exponentials(a, "add"),
    "tanh": TaylorModel._tanh,
    "atan": TaylorModel._arctangent,
    "asin": TaylorModel._arcsine,
    "log10": TaylorModel._decades,
}


def _require_smooth(system: SortedSystem) -> None:
    for rough, why in (
        (system.memories or system.logicals or system.reinits, "it has discrete variables"),
        (system.delays, "it has delays"),
        (system.free_parameters, "parameters follow from its initial equations"),
        (system.initial_equations or system.constraints, "its start follows from equations"),
        (system.fixed - set(system.states), "its start follows from equations"),
    ):
        if rough:
            raise NoSeriesError(why)


class SeriesOfOutputs:
    """Taylor coefficients of the outputs of one experiment, with their derivatives."""

    def __init__(self, model: TaylorModel, experiment: Experiment, order: int) -> None:
        self.model = model
        self.experiment = experiment
        self.series = Series(model.nodes, model.steps, order, len(experiment.unknowns))
        self.order = -1
        self._begin()

    def advance(self) -> list[Dual]:
        """The next coefficient of every output."""
        k = self.order = self.order + 1
        s, model = self.series, self.model
        s.advance(k)
        if k + 1 < len(s.at[0]):
            factor = Decimal(self.experiment.duration) / Decimal(k + 1)
            for start, slope in zip(model.starts, model.slopes, strict=True):
                s.at[start.node][k + 1] = factor * s.at[slope][k]
        return [s.at[n][k] for n in model.outputs]

    def _begin(self) -> None:
        """Coefficients that are known beforehand: numbers, constants, time, inputs, starts."""
        s, model, e = self.series, self.model, self.experiment
        for n, node in enumerate(model.nodes):
            if node.op == "number":
                s.at[n][0] = s.number(node.number)
        s.at[model.time][0] = s.number(Decimal(e.begin))
        if len(s.at[0]) > 1:
            s.at[model.time][1] = s.number(Decimal(e.duration))
        for name, input_ in model.inputs.items():
            for k, c in enumerate(e.inputs.get(name, (0.0,))[: len(s.at[0])]):
                s.at[input_][k] = s.number(Decimal(c))
        for constant in (*model.constants, *model.starts):
            s.evaluate(constant.needed, 0)
            s.at[constant.node][0] = self._constant(constant.name, constant.bound)

    def _constant(self, name: str, bound: int | None) -> Dual:
        e, s = self.experiment, self.series
        if name in e.unknowns:
            found = s.number(Decimal(e.values[name]))
            found[1 + e.unknowns.index(name)] = ONE
            return found
        if name in e.values:
            return s.number(Decimal(e.values[name]))
        return s.none if bound is None else s.at[bound][0]
