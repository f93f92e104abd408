"""MathML and formulas, as libsbml parses both, as expressions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from importlib import import_module
from itertools import pairwise
from typing import Any

from estimica.base.errors import SourceError, UnsupportedError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression


def libsbml(what: str) -> Any:
    """The module, or an error that says how to install it; `what` is what needs it."""
    try:
        return import_module("libsbml")
    except ImportError:
        raise SourceError(
            "S300",
            f"{what} needs python-libsbml; install it with: pip install 'estimica[petab]'",
        ) from None


#: calls within calls of function definitions; a definition that calls itself would not end
DEPTH = 100
_LN2 = math.log(2.0)
_AVOGADRO = 6.02214179e23  # the value that SBML fixes, Level 3 section 3.4.6

Lookup = Callable[[str], Expression]


@dataclass(frozen=True)
class Definition:
    """A function definition: `lambda(arguments: body)`."""

    arguments: tuple[str, ...]
    body: Any


@dataclass(frozen=True)
class Reader:
    """Turns trees of libsbml into expressions; `where` names the place in messages."""

    lookup: Lookup
    definitions: Mapping[str, Definition] = field(default_factory=dict)
    where: str = ""
    depth: int = 0

    def at(self, where: str) -> Reader:
        """The same, for another place."""
        return Reader(self.lookup, self.definitions, where, self.depth)

    def read(self, node: Any) -> Expression:
        """The expression of a tree."""
        if node is None:
            raise SourceError("S302", f"{self.where}: the formula is missing")
        kind = _kinds().get(node.getType())
        if kind is None:
            return self._other(node)
        if kind in ("number", "time", "name", "constant"):
            return self._leaf(node, kind)
        if kind == "call":
            return self._call(node)
        if kind == "piecewise":
            return self._piecewise(node)
        if kind == "rateOf":
            return self._rate(node)
        return self._operation(kind, [self.read(c) for c in _children(node)])

    def _leaf(self, node: Any, kind: str) -> Expression:
        if kind == "number":
            return ex.const(_number(node))
        if kind == "time":
            return ex.TIME
        if kind == "constant":
            return ex.const(_constants()[node.getType()])
        return self.lookup(node.getName())

    def _other(self, node: Any) -> Expression:
        name = node.getName() or node.getOperatorName() or f"node {node.getType()}"
        raise UnsupportedError(
            "U060", f"{self.where}: '{name}' is not supported; write the formula without it"
        )

    def _operation(self, kind: str, args: list[Expression]) -> Expression:
        if kind in _NARY:
            maker, empty = _NARY[kind]
            return reduce(maker, args) if args else empty
        if kind in ex.RELATIONS:
            pairs = [ex.relation(kind, a, b) for a, b in pairwise(args)]
            return reduce(ex.logical_and, pairs) if pairs else ex.ONE
        maker_of = _MAKERS.get((kind, len(args)))
        if maker_of is None:
            raise SourceError("S303", f"{self.where}: {kind} does not take {len(args)} arguments")
        return maker_of(*args)

    def _piecewise(self, node: Any) -> Expression:
        parts = [self.read(c) for c in _children(node)]
        if len(parts) % 2 == 0:
            if not any(_excludes(parts[-1], c) for c in parts[1:-1:2]):
                raise UnsupportedError(
                    "U061",
                    f"{self.where}: piecewise without a last value is undefined where no condition "
                    "holds; give the value for all other cases",
                )
            del parts[-1]  # whatever the other leaves
        result = parts[-1]
        for value, condition in reversed(list(zip(parts[:-1:2], parts[1::2], strict=True))):
            result = ex.conditional(condition, value, result)
        return result

    def _rate(self, node: Any) -> Expression:
        children = _children(node)
        inner = self.read(children[0]) if len(children) == 1 else ex.ZERO
        if inner.op != "name":
            raise SourceError("S303", f"{self.where}: rateOf takes the name of one variable")
        return ex.der(inner.target)

    def _call(self, node: Any) -> Expression:
        name, children = node.getName(), _children(node)
        plain = _MAKERS.get((name, len(children)))
        definition = self.definitions.get(name)
        if definition is None and plain is not None:
            return plain(*(self.read(c) for c in children))
        if definition is None:
            raise SourceError("S304", f"{self.where}: there is no function '{name}'")
        if len(children) != len(definition.arguments):
            raise SourceError(
                "S303",
                f"{self.where}: function '{name}' takes {len(definition.arguments)} arguments, "
                f"not {len(children)}",
            )
        if self.depth >= DEPTH:
            raise SourceError("S305", f"{self.where}: function '{name}' calls itself")
        given = dict(zip(definition.arguments, map(self.read, children), strict=True))
        inner = Reader(
            lambda n: given[n] if n in given else self.lookup(n),
            self.definitions,
            self.where,
            self.depth + 1,
        )
        return inner.read(definition.body)


def parse_petab_formula(text: str, lookup: Lookup, where: str) -> Expression:
    """A formula of a PEtab table: `log` is the natural logarithm, `^` a power."""
    lib = libsbml(where)
    settings = lib.L3ParserSettings()
    settings.setParseLog(lib.L3P_PARSE_LOG_AS_LN)
    settings.setParseUnits(lib.L3P_NO_UNITS)
    settings.setParseAvogadroCsymbol(lib.L3P_AVOGADRO_IS_NAME)
    node = lib.parseL3FormulaWithSettings(text, settings)
    if node is None:
        said = (lib.getLastParseL3Error() or "").strip().splitlines()
        why = said[-1].strip() if said else "it cannot be read"
        raise SourceError("S306", f"{where}: '{text}': {why}")
    return Reader(lookup, {}, where).read(node)


def _number(node: Any) -> float:
    """Mantissa and exponent together as one decimal: their product is not the nearest double."""
    if node.getType() == libsbml("mathematics").AST_REAL_E:
        return float(f"{node.getMantissa()!r}e{node.getExponent()}")
    return float(node.getValue())


_OPPOSITE = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}
_TURNED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


def _excludes(a: Expression, b: Expression) -> bool:
    """Whether exactly one of two relations holds, by their form."""
    if a.op not in ex.RELATIONS or b.op not in ex.RELATIONS:
        return a is ex.logical_not(b) or ex.logical_not(a) is b
    opposite = ex.relation(_OPPOSITE[b.op], *b.operands)
    turned = ex.relation(_TURNED[opposite.op], *reversed(opposite.operands))
    return a is opposite or a is turned


def _children(node: Any) -> list[Any]:
    return [node.getChild(k) for k in range(node.getNumChildren())]


def _root(degree: Expression, a: Expression) -> Expression:
    if ex.is_const(degree, 2.0):
        return ex.call("sqrt", a)
    return ex.power(a, ex.div(ex.ONE, degree))


def _log(base: Expression, a: Expression) -> Expression:
    if ex.is_const(base, 10.0):
        return ex.call("log10", a)
    return ex.div(ex.call("log", a), ex.call("log", base))


def _over(f: str) -> Callable[[Expression], Expression]:
    return lambda a: ex.div(ex.ONE, ex.call(f, a))


def _of_inverse(f: str) -> Callable[[Expression], Expression]:
    return lambda a: ex.call(f, ex.div(ex.ONE, a))


def _asinh(a: Expression) -> Expression:
    return ex.call("log", ex.add(a, ex.call("sqrt", ex.add(ex.mul(a, a), ex.ONE))))


def _acosh(a: Expression) -> Expression:
    return ex.call("log", ex.add(a, ex.call("sqrt", ex.sub(ex.mul(a, a), ex.ONE))))


def _atanh(a: Expression) -> Expression:
    ratio = ex.div(ex.add(ex.ONE, a), ex.sub(ex.ONE, a))
    return ex.mul(ex.const(0.5), ex.call("log", ratio))


def _exclusive(a: Expression, b: Expression) -> Expression:
    return ex.logical_and(ex.logical_or(a, b), ex.logical_not(ex.logical_and(a, b)))


_NARY: dict[str, tuple[Callable[[Expression, Expression], Expression], Expression]] = {
    "plus": (ex.add, ex.ZERO),
    "times": (ex.mul, ex.ONE),
    "and": (ex.logical_and, ex.ONE),
    "or": (ex.logical_or, ex.ZERO),
    "xor": (_exclusive, ex.ZERO),
    "min": (lambda a, b: ex.call("min", a, b), ex.ZERO),
    "max": (lambda a, b: ex.call("max", a, b), ex.ZERO),
}
_MAKERS: dict[tuple[str, int], Callable[..., Expression]] = {
    ("minus", 1): ex.neg,
    ("minus", 2): ex.sub,
    ("divide", 2): ex.div,
    ("power", 2): ex.power,
    ("root", 1): lambda a: ex.call("sqrt", a),
    ("root", 2): _root,
    ("sqrt", 1): lambda a: ex.call("sqrt", a),
    ("pow", 2): ex.power,
    ("log", 1): lambda a: ex.call("log10", a),
    ("log", 2): _log,
    ("log2", 1): lambda a: ex.div(ex.call("log", a), ex.const(_LN2)),
    ("log10", 1): lambda a: ex.call("log10", a),
    ("ln", 1): lambda a: ex.call("log", a),
    ("sqr", 1): lambda a: ex.mul(a, a),
    ("not", 1): ex.logical_not,
    ("implies", 2): lambda a, b: ex.logical_or(ex.logical_not(a), b),
    ("quotient", 2): lambda a, b: ex.call("idiv", a, b),
    ("rem", 2): lambda a, b: ex.call("rem", a, b),
    ("sign", 1): lambda a: ex.call("sign", a),
    **{(f"arc{f}", 1): partial(ex.call, f"a{f}") for f in ("sin", "cos", "tan")},
    **{
        (f, 1): partial(ex.call, f)
        for f in ("abs", "exp", "floor", "sin", "cos", "tan", "sinh", "cosh", "tanh")
    },
    ("ceiling", 1): lambda a: ex.call("ceil", a),
    ("sec", 1): _over("cos"),
    ("csc", 1): _over("sin"),
    ("cot", 1): _over("tan"),
    ("sech", 1): _over("cosh"),
    ("csch", 1): _over("sinh"),
    ("coth", 1): _over("tanh"),
    ("arcsec", 1): _of_inverse("acos"),
    ("arccsc", 1): _of_inverse("asin"),
    ("arccot", 1): _of_inverse("atan"),
    ("arcsinh", 1): _asinh,
    ("arccosh", 1): _acosh,
    ("arctanh", 1): _atanh,
}


def _constants() -> dict[int, float]:
    lib = libsbml("mathematics")
    return {
        lib.AST_CONSTANT_PI: math.pi,
        lib.AST_CONSTANT_E: math.e,
        lib.AST_CONSTANT_TRUE: 1.0,
        lib.AST_CONSTANT_FALSE: 0.0,
        lib.AST_NAME_AVOGADRO: _AVOGADRO,
    }


_found: dict[int, str] = {}


def _kinds() -> Mapping[int, str]:
    """What the types of libsbml's nodes mean here."""
    if not _found:
        lib = libsbml("mathematics")
        for kind, names in _TYPES.items():
            for name in names:
                _found[getattr(lib, name)] = kind
    return _found


def _functions(*names: str) -> dict[str, Sequence[str]]:
    return {n: (f"AST_FUNCTION_{n.upper()}",) for n in names}


_TYPES: dict[str, Sequence[str]] = {
    "number": ("AST_INTEGER", "AST_REAL", "AST_REAL_E", "AST_RATIONAL"),
    "time": ("AST_NAME_TIME",),
    "name": ("AST_NAME",),
    "constant": (
        "AST_CONSTANT_PI",
        "AST_CONSTANT_E",
        "AST_CONSTANT_TRUE",
        "AST_CONSTANT_FALSE",
        "AST_NAME_AVOGADRO",
    ),
    "call": ("AST_FUNCTION",),
    "piecewise": ("AST_FUNCTION_PIECEWISE",),
    "rateOf": ("AST_FUNCTION_RATE_OF",),
    "plus": ("AST_PLUS",),
    "minus": ("AST_MINUS",),
    "times": ("AST_TIMES",),
    "divide": ("AST_DIVIDE",),
    "power": ("AST_POWER", "AST_FUNCTION_POWER"),
    "and": ("AST_LOGICAL_AND",),
    "or": ("AST_LOGICAL_OR",),
    "xor": ("AST_LOGICAL_XOR",),
    "not": ("AST_LOGICAL_NOT",),
    "implies": ("AST_LOGICAL_IMPLIES",),
    "lt": ("AST_RELATIONAL_LT",),
    "le": ("AST_RELATIONAL_LEQ",),
    "gt": ("AST_RELATIONAL_GT",),
    "ge": ("AST_RELATIONAL_GEQ",),
    "eq": ("AST_RELATIONAL_EQ",),
    "ne": ("AST_RELATIONAL_NEQ",),
    **_functions("abs", "exp", "floor", "ceiling", "ln", "log", "root", "min", "max"),
    **_functions("quotient", "rem"),
    **_functions(*(f + h for f in ("sin", "cos", "tan", "sec", "csc", "cot") for h in ("", "h"))),
    **_functions(*(f"arc{f}" for f in ("sin", "cos", "tan", "sec", "csc", "cot"))),
    **_functions("arcsinh", "arccosh", "arctanh"),
}
