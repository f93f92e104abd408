"""SortedSystem → CasADi: symbols for what can change, expressions for everything else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import casadi as ca

from estimica.base.errors import ModelError
from estimica.base.suggest import did_you_mean
from estimica.compiled.llvm.call_expansion import written_out
from estimica.compiled.llvm.domain import DOMAIN_TOLERANCE, FLOOR, MOST_PRODUCTS, POWER_FLOOR
from estimica.compiled.llvm.kept_function import call_kept
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.function import called
from estimica.flat.system import Assertion, Kind
from estimica.structure.sorted_system import CLOSED_FORM, Assignment, Block, SortedSystem


@dataclass(frozen=True)
class Equations:
    """The model as CasADi expressions of its symbols; `P` holds parameters and start values."""

    system: SortedSystem
    t: ca.SX
    x: ca.SX
    z: ca.SX
    w: ca.SX
    P: ca.SX
    u: ca.SX
    d: ca.SX
    x_pre: ca.SX
    d_pre: ca.SX
    flags: ca.SX
    homotopy: ca.SX  # 1: the actual expressions, 0: the simplified ones
    f: ca.SX
    g: ca.SX
    zero: ca.SX
    strict: tuple[bool, ...]
    instants: ca.SX
    until: tuple[bool, ...]
    event_x: ca.SX
    reinit_fired: ca.SX
    event_l: ca.SX
    constraints: ca.SX
    delayed: ca.SX
    delays: ca.SX
    checks: ca.SX
    endings: ca.SX  # positive until a `terminate` is reached
    messages: tuple[str, ...]  # of the endings
    torn: tuple[str, ...]  # names of z
    constants: tuple[str, ...]  # names of P: parameters, then `start(x)` of every state and memory
    defaults: dict[str, ca.SX]  # how each entry of P follows from the others
    environment: dict[str, ca.SX]  # every computed name, `der(x)` included
    state_modes: tuple[int, ...]  # relation index of each state relation, in the order of d
    time_modes: tuple[int, ...]

    def value(self, name: str) -> ca.SX:
        """The expression of any variable of the model, aliases, derivatives and `time` included."""
        if name == "time":
            return self.t
        found = self.environment.get(name)
        if found is not None:
            return found
        alias = self.system.aliases.get(name)
        if alias is not None:
            return translate([alias], self.leaf_with({}))[0]
        if name.startswith("der(") and name.endswith(")"):
            return self._derivative(name[4:-1])
        known = [v.name for v in self.system.flat.variables if v.kind is not Kind.STRING]
        raise ModelError(
            "M001",
            f"model '{self.system.flat.name}' has no variable '{name}'{did_you_mean(name, known)}",
        )

    def _derivative(self, name: str) -> ca.SX:
        """Time derivative of an alias of a state, or of an expression of states between events."""
        e = self.value(name)
        if ca.depends_on(e, ca.vertcat(self.u, self.z, self.w)):
            raise ModelError("M002", f"der({name}) is not computed by the model; ask for '{name}'")
        return ca.jtimes(e, self.x, self.f) + ca.jacobian(e, self.t)

    def leaf_with(self, modes: Mapping[int, ca.SX]) -> Callable[[Expression], ca.SX]:
        """How to write a leaf outside the blocks; pre(x) is then x itself."""

        def leaf(e: Expression) -> ca.SX:
            if e.op == "der" and f"der({e.target})" not in self.environment:
                return self._derivative(e.target)  # only an initial equation asks for it
            return _leaf(e, self.environment, self.t, modes, self.environment, self.flags)

        return leaf


def assemble(system: SortedSystem) -> Equations:
    """Write a sorted system in CasADi symbols."""
    return _Assembler(system).equations()


class _Assembler:
    """Holds the growing environment while the blocks are written out in order."""

    def __init__(self, system: SortedSystem) -> None:
        self.system = system
        self.carried = system.states + system.memories
        self.t = ca.SX.sym("time")
        self.homotopy = ca.SX.sym("homotopy")
        self.x = _symbols(self.carried)
        self.x_pre = _symbols(f"pre({n})" for n in self.carried)
        self.u = _symbols(system.inputs)
        self.w = _symbols(d.name for d in system.delays)
        self.flags = _symbols(("initial()", "terminal()"))
        self.state_modes = tuple(i for i, r in enumerate(system.relations) if r.instant is None)
        self.time_modes = tuple(i for i, r in enumerate(system.relations) if r.instant is not None)
        order = self.state_modes + self.time_modes
        labels = [f"mode({i})" for i in order] + list(system.logicals)
        self.d = _symbols(labels)
        self.d_pre = _symbols(f"pre({n})" for n in labels)
        self.modes = {index: self.d[k] for k, index in enumerate(order)}
        self.constants = system.parameters + tuple(f"start({n})" for n in self.carried)
        self.P = _symbols(self.constants)
        self.environment: dict[str, ca.SX] = {}
        self.previous: dict[str, ca.SX] = {}
        self._bind()
        self.memo: dict[Expression, ca.SX] = {}
        self.torn: list[str] = []
        self.z_parts: list[ca.SX] = []
        self.g_parts: list[ca.SX] = []

    def _bind(self) -> None:
        system, env = self.system, self.environment
        n = len(system.parameters)
        env.update(zip(system.parameters, _elements(self.P)[:n], strict=True))
        env.update(zip(system.inputs, _elements(self.u), strict=True))
        env.update(zip(self.carried, _elements(self.x), strict=True))
        env.update(zip((d.name for d in system.delays), _elements(self.w), strict=True))
        first = len(system.relations)
        env.update(zip(system.logicals, _elements(self.d)[first:], strict=True))
        self.previous.update(zip(self.carried, _elements(self.x_pre), strict=True))
        self.previous.update(zip(system.logicals, _elements(self.d_pre)[first:], strict=True))

    def leaf(self, e: Expression) -> ca.SX:
        return _leaf(e, self.environment, self.t, self.modes, self.previous, self.flags)

    def write(self, *roots: Expression) -> list[ca.SX]:
        return translate(roots, self.leaf, self.memo, self.homotopy)

    def column(self, roots: Iterable[Expression]) -> ca.SX:
        return _column(self.write(*roots))

    def equations(self) -> Equations:
        system = self.system
        for block in system.blocks:
            if isinstance(block, Assignment):
                self.environment[block.unknown] = self.write(block.value)[0]
            else:
                self._solve(block)
        zero, f = ca.SX(0), [self.environment[f"der({n})"] for n in system.states]
        state_relations = [system.relations[i] for i in self.state_modes]
        time_relations = [system.relations[i] for i in self.time_modes]
        event_x, fired = self._event_map()
        events = self.write(*(a.value for a in system.logical_equations))
        by_logical = dict(zip((a.unknown for a in system.logical_equations), events, strict=True))
        return Equations(
            system=system,
            t=self.t,
            x=self.x,
            z=_column(self.z_parts),
            w=self.w,
            P=self.P,
            u=self.u,
            d=self.d,
            x_pre=self.x_pre,
            d_pre=self.d_pre,
            flags=self.flags,
            homotopy=self.homotopy,
            f=_column([*f, *(zero for _ in system.memories)]),
            g=_column(self.g_parts),
            zero=self.column(r.difference for r in state_relations),
            strict=tuple(r.strict for r in state_relations),
            instants=self.column(r.instant for r in time_relations if r.instant is not None),
            until=tuple(r.until for r in time_relations),
            event_x=event_x,
            reinit_fired=fired,
            event_l=_column([by_logical[n] for n in system.logicals]),
            constraints=self.column(ex.sub(c.lhs, c.rhs) for c in system.constraints),
            delayed=self.column(d.expression for d in system.delays),
            delays=self.column(d.duration for d in system.delays),
            checks=self._checks(),
            endings=self._endings(),
            messages=tuple(a.message for a in self._terminations),
            torn=tuple(self.torn),
            constants=self.constants,
            defaults=self._defaults(),
            environment=self.environment,
            state_modes=self.state_modes,
            time_modes=self.time_modes,
        )

    def _solve(self, block: Block) -> None:
        """Small linear blocks in closed form where they are regular, others by the engine."""
        unknowns = _symbols(block.torn)
        self.environment.update(zip(block.torn, _elements(unknowns), strict=True))
        if not (block.linear and block.regular and len(block.torn) <= CLOSED_FORM):
            self._write_inner(block, self.memo)
            self.torn.extend(block.torn)
            self.z_parts.append(unknowns)
            self.g_parts.append(self.column(block.residuals))
            return
        # the placeholders must not get into the shared memo: the solution takes their place
        memo: dict[Expression, ca.SX] = {}
        self._write_inner(block, memo)
        residual = _column(translate(block.residuals, self.leaf, memo, self.homotopy))
        # the residual is linear, so the matrix is the same everywhere; where calls stand in it,
        # CasADi leaves terms with the unknowns that vanish
        nothing = ca.SX.zeros(len(block.torn))
        matrix = ca.substitute(written_out(ca.jacobian(residual, unknowns)), unknowns, nothing)
        constant = ca.substitute(residual, unknowns, nothing)
        solution = _linear_solution(matrix, -constant)
        self.environment.update(zip(block.torn, _elements(solution), strict=True))
        self._write_inner(block, self.memo)

    def _write_inner(self, block: Block, memo: dict[Expression, ca.SX]) -> None:
        for a in block.inner:
            value = translate([a.value], self.leaf, memo, self.homotopy)[0]
            self.environment[a.unknown] = value

    def _event_map(self) -> tuple[ca.SX, ca.SX]:
        system = self.system
        values = dict(zip(self.carried, _elements(self.x), strict=True))
        fired: dict[str, ca.SX] = {n: ca.SX(0) for n in self.carried}
        written = self.write(*(a.value for a in system.memory_equations))
        values.update(zip((a.unknown for a in system.memory_equations), written, strict=True))
        for r in reversed(system.reinits):
            condition, value = self.write(r.fired, r.value)
            values[r.state] = ca.if_else(condition, value, values[r.state])
            fired[r.state] = ca.logic_or(condition, fired[r.state])
        return _column([values[n] for n in self.carried]), _column([fired[n] for n in self.carried])

    def _checks(self) -> ca.SX:
        """Positive where an assertion holds. Relations are evaluated as they stand."""
        conditions = [a.condition for a in self.system.assertions if a.fails]
        relations = self.system.relations

        def leaf(e: Expression) -> ca.SX:
            if e.op == "mode":
                r = relations[e.args[0]]  # type: ignore[call-overload]
                if r.instant is None:
                    (difference,) = self.write(r.difference)
                    return difference > 0 if r.strict else difference >= 0
            return self.leaf(e)

        return _column([c - 0.5 for c in translate(conditions, leaf, {}, self.homotopy)])

    def _endings(self) -> ca.SX:
        """Positive as long as a `terminate` is not reached; relations as the last event left
        them."""
        return _column([c - 0.5 for c in self.write(*(a.condition for a in self._terminations))])

    @property
    def _terminations(self) -> list[Assertion]:
        return [a for a in self.system.assertions if a.terminates]

    def _defaults(self) -> dict[str, ca.SX]:
        system = self.system
        names = [n for n in system.parameters if n in system.bindings]
        result = dict(zip(names, self.write(*(system.bindings[n] for n in names)), strict=True))
        for n in system.free_parameters:
            if n in system.starts:  # a number from which the search begins
                result[n] = self.write(system.starts[n])[0]
        for n in self.carried:
            start = system.starts.get(n)
            result[f"start({n})"] = self.write(start)[0] if start is not None else ca.SX(0)
        return result


def _leaf(
    e: Expression,
    environment: Mapping[str, ca.SX],
    t: ca.SX,
    modes: Mapping[int, ca.SX],
    previous: Mapping[str, ca.SX],
    flags: ca.SX,
) -> ca.SX:
    match e.op:
        case "const":
            return ca.SX(e.value)
        case "name":
            return environment[e.target]
        case "der":
            return environment[f"der({e.target})"]
        case "pre":
            return previous[e.target]
        case "time":
            return t
        case "mode":
            return modes[e.args[0]]  # type: ignore[index]
        case "initial":
            return flags[0]
        case "terminal":
            return flags[1]
    raise AssertionError(e.op)


def translate(
    roots: Iterable[Expression],
    leaf: Callable[[Expression], ca.SX],
    memo: dict[Expression, ca.SX] | None = None,
    homotopy: ca.SX | None = None,
) -> list[ca.SX]:
    """Expressions as CasADi scalars; `memo` keeps shared nodes shared between calls."""
    memo = {} if memo is None else memo
    roots = list(roots)
    for e in ex.walk(*(r for r in roots if r not in memo)):
        if e in memo:
            continue
        if not e.operands:
            memo[e] = leaf(e)
        elif e.op == "homotopy" and homotopy is not None:
            actual, simplified = (memo[a] for a in e.operands)
            memo[e] = homotopy * actual + (1 - homotopy) * simplified
        elif e.op == "call":
            function, _ = called(e)
            outputs = call_kept(function, [memo[a] for a in e.operands])
            for k, output in enumerate(outputs):
                memo[ex.node("call", function, k, *e.operands)] = output
        else:
            memo[e] = _RULES[e.op](*(memo[a] for a in e.operands))
    return [memo[r] for r in roots]


def _root(a: ca.SX) -> ca.SX:
    """√a with finite derivatives at 0 and a NaN clearly below it."""
    return ca.sqrt(ca.fmax(a, FLOOR)) + ca.if_else(a < -DOMAIN_TOLERANCE, ca.SX.nan(), 0)


def _power(a: ca.SX, b: ca.SX) -> ca.SX:
    if b.is_constant():
        exponent = float(b)
        if exponent.is_integer() and abs(exponent) <= MOST_PRODUCTS:  # an infinite one is not
            return _integer_power(a, int(exponent))
        if exponent == 0.5:
            return _root(a)
        floor = ca.fmax(a, POWER_FLOOR)
        return floor**exponent + ca.if_else(a < -DOMAIN_TOLERANCE, ca.SX.nan(), 0)
    return a**b


def _integer_power(a: ca.SX, n: int) -> ca.SX:
    """aⁿ by repeated squaring: cheaper than pow and exact for negative bases."""
    if n < 0:
        return 1 / _integer_power(a, -n)
    result, square = ca.SX(1), a
    while n:
        if n & 1:
            result = result * square
        n >>= 1
        if n:
            square = square * square
    return result


def _truncated(q: ca.SX) -> ca.SX:
    return ca.if_else(q >= 0, ca.floor(q), ca.ceil(q))


def _table(u: ca.SX, *points: ca.SX) -> ca.SX:
    """Piecewise linear through (x1, y1, x2, y2, …), straight on beyond both ends."""
    xs, ys = points[0::2], points[1::2]
    if len(xs) == 1:
        return ys[0]
    lines = [
        y0 + (y1 - y0) / (x1 - x0) * (u - x0)
        for x0, x1, y0, y1 in zip(xs, xs[1:], ys, ys[1:], strict=False)
    ]
    result = lines[-1]
    for x, line in zip(reversed(xs[1:-1]), reversed(lines[:-1]), strict=True):
        result = ca.if_else(u < x, line, result)
    return result


def _element(index: ca.SX, *elements: ca.SX) -> ca.SX:
    result = elements[-1]
    for k in range(len(elements) - 1, 0, -1):
        result = ca.if_else(index < k + 1, elements[k - 1], result)
    return result


def _table_slope(u: ca.SX, *points: ca.SX) -> ca.SX:
    xs, ys = points[0::2], points[1::2]
    if len(xs) == 1:
        return ca.SX(0)
    slopes = [(y1 - y0) / (x1 - x0) for x0, x1, y0, y1 in zip(xs, xs[1:], ys, ys[1:], strict=False)]
    result = slopes[-1]
    for x, slope in zip(reversed(xs[1:-1]), reversed(slopes[:-1]), strict=True):
        result = ca.if_else(u < x, slope, result)
    return result


_RULES: dict[str, Callable[..., ca.SX]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": _power,
    "neg": lambda a: -a,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "and": ca.logic_and,
    "or": ca.logic_or,
    "not": ca.logic_not,
    "if": lambda c, a, b: ca.if_else(c, a, b),
    "min": ca.fmin,
    "max": ca.fmax,
    "abs": ca.fabs,
    "sign": ca.sign,
    "floor": ca.floor,
    "integer": ca.floor,
    "ceil": ca.ceil,
    "idiv": lambda a, b: _truncated(a / b),
    "mod": lambda a, b: a - ca.floor(a / b) * b,
    "rem": lambda a, b: a - _truncated(a / b) * b,
    "atan2": ca.atan2,
    "sqrt": _root,
    "noEvent": lambda a: a,
    "smooth": lambda a, order: a,
    "homotopy": lambda actual, simplified: actual,
    "table": _table,
    "table_slope": _table_slope,
    "element": _element,
    **{f: getattr(ca, f) for f in ex.ELEMENTARY - {"sqrt", "abs"}},
}


def _linear_solution(matrix: ca.SX, rhs: ca.SX) -> ca.SX:
    """A⁻¹b for one to three unknowns; by cofactors, so that no pivot can vanish on its own."""
    n = matrix.shape[0]
    if n == 1:
        return rhs / matrix
    return ca.mtimes(ca.adj(matrix), rhs) / ca.det(matrix)


def _symbols(names: Iterable[str]) -> ca.SX:
    return _column([ca.SX.sym(n) for n in names])


def _column(parts: list[ca.SX]) -> ca.SX:
    return ca.densify(ca.vertcat(*parts)) if parts else ca.SX(0, 1)


def _elements(column: ca.SX) -> list[ca.SX]:
    return [column[i] for i in range(column.numel())]
