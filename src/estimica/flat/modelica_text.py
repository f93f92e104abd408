"""The flat form as Modelica text: expressions with no more brackets than needed, whole classes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.function import called, functions_in
from estimica.flat.function_text import called_name, write_function
from estimica.flat.system import (
    Branch,
    Equation,
    FlatSystem,
    Kind,
    Variability,
    Variable,
    When,
    expressions_of,
)

# How tightly each operator binds; Modelica's `^` does not associate, and unary minus stands at the
# level of addition.
_IF, _OR, _AND, _NOT, _RELATION, _SUM, _PRODUCT, _POWER, _ATOM = range(9)
_SYMBOLS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "<>"}
_FUNCTIONS = {"idiv": "div", "min": "min", "max": "max"}
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_KEYWORDS = frozenset(
    [
        "algorithm",
        "and",
        "annotation",
        "block",
        "break",
        "class",
        "connect",
        "connector",
        "constant",
        "constrainedby",
        "der",
        "discrete",
        "each",
        "else",
        "elseif",
        "elsewhen",
        "encapsulated",
        "end",
        "enumeration",
        "equation",
        "expandable",
        "extends",
        "external",
        "false",
        "final",
        "flow",
        "for",
        "function",
        "if",
        "import",
        "impure",
        "in",
        "initial",
        "inner",
        "input",
        "loop",
        "model",
        "not",
        "operator",
        "or",
        "outer",
        "output",
        "package",
        "parameter",
        "partial",
        "protected",
        "public",
        "pure",
        "record",
        "redeclare",
        "replaceable",
        "return",
        "stream",
        "then",
        "true",
        "type",
        "when",
        "while",
        "within",
        "time",
    ]
)

Piece = tuple[str, int]


def identifier(name: str) -> str:
    """`name` itself where it is a plain identifier, quoted otherwise: 'a.b[2]'."""
    if _IDENTIFIER.match(name) and name not in _KEYWORDS:
        return name
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def write_equation(e: Equation, spell: Callable[[str], str] = identifier) -> str:
    """`lhs = rhs`, without a semicolon."""
    lhs, rhs = (write_expression(side, spell) for side in (e.lhs, e.rhs))
    return f"({lhs}) = {rhs}" if e.lhs.op == "if" else f"{lhs} = {rhs}"


def write_expression(
    e: Expression, spell: Callable[[str], str] = identifier, modes: dict[int, str] | None = None
) -> str:
    """`e` as Modelica text; `spell` writes names, `modes` the relations behind mode leaves.

    Booleans that are numbers here are written as numbers, as no type is known; see `write_truth`.
    """
    return _Writer(spell, modes or {}).text(e)


def write_truth(
    e: Expression, spell: Callable[[str], str] = identifier, modes: dict[int, str] | None = None
) -> str:
    """`e` as the text of a Boolean expression: the numbers 1 and 0 are true and false."""
    if e.op == "const":
        return "true" if e.value else "false"
    return write_expression(e, spell, modes)


class _Writer:
    """Writes shared nodes once; the pieces carry how tightly they bind."""

    def __init__(self, spell: Callable[[str], str], modes: dict[int, str]) -> None:
        self.spell, self.modes = spell, modes
        self.memo: dict[Expression, Piece] = {}

    def text(self, e: Expression) -> str:
        for node in ex.walk(e):
            if node not in self.memo:
                self.memo[node] = self._piece(node)
        return self.memo[e][0]

    def _at(self, e: Expression, level: int) -> str:
        """The text of `e`, in brackets where it binds less tightly than `level`."""
        text, own = self.memo[e]
        return text if own >= level else f"({text})"

    def _truth(self, e: Expression, level: int) -> str:
        if e.op == "const":
            return "true" if e.value else "false"
        return self._at(e, level)

    def _piece(self, e: Expression) -> Piece:
        if not e.operands:
            return self._leaf(e)
        a = e.operands
        match e.op:
            case "add" | "sub":
                sign = "+" if e.op == "add" else "-"
                right = self._at(a[1], _PRODUCT)
                return f"{self._at(a[0], _SUM)} {sign} {right}", _SUM
            case "neg":
                return f"-{self._at(a[0], _PRODUCT)}", _SUM
            case "mul" | "div":
                sign = "*" if e.op == "mul" else "/"
                return f"{self._at(a[0], _PRODUCT)}{sign}{self._at(a[1], _POWER)}", _PRODUCT
            case "pow":
                return f"{self._at(a[0], _ATOM)}^{self._at(a[1], _ATOM)}", _POWER
            case "and":
                return f"{self._truth(a[0], _AND)} and {self._truth(a[1], _NOT)}", _AND
            case "or":
                return f"{self._truth(a[0], _OR)} or {self._truth(a[1], _AND)}", _OR
            case "not":
                return f"not {self._truth(a[0], _RELATION)}", _NOT
            case "if":
                condition = self._truth(a[0], _OR)
                return f"if {condition} then {self._at(a[1], _OR)} else {self._at(a[2], _IF)}", _IF
            case "smooth":
                return f"smooth({self._at(a[1], _IF)}, {self._at(a[0], _IF)})", _ATOM
            case "table" | "table_slope":
                return self._table(e), _ATOM
            case "element":
                return self._element(e), _IF
        if e.op in _SYMBOLS:
            return f"{self._at(a[0], _SUM)} {_SYMBOLS[e.op]} {self._at(a[1], _SUM)}", _RELATION
        listed = ", ".join(self._at(x, _IF) for x in a)
        if e.op == "call":
            return f"{called_name(*called(e))}({listed})", _ATOM
        return f"{_FUNCTIONS.get(e.op, e.op)}({listed})", _ATOM

    def _leaf(self, e: Expression) -> Piece:
        match e.op:
            case "const":
                return _number(e.value)
            case "name":
                return self.spell(e.target), _ATOM
            case "der" | "pre":
                return f"{e.op}({self.spell(e.target)})", _ATOM
            case "time":
                return "time", _ATOM
            case "mode":
                return self.modes[e.args[0]], _IF  # type: ignore[index]
            case _:
                return f"{e.op}()", _ATOM

    def _element(self, e: Expression) -> str:
        index = self._at(e.operands[0], _SUM)
        *elements, last = (self._at(a, _OR) for a in e.operands[1:])
        chain = [f"if {index} == {k + 1} then {a} else " for k, a in enumerate(elements)]
        return "".join(chain) + last

    def _table(self, e: Expression) -> str:
        """A piecewise linear function as a chain of lines: Modelica has no such operator."""
        u = self._at(e.operands[0], _POWER)
        points = [self._at(p, _POWER) for p in e.operands[1:]]
        xs, ys = points[0::2], points[1::2]
        lines = []
        for x0, x1, y0, y1 in zip(xs, xs[1:], ys, ys[1:], strict=False):
            slope = f"({y1} - {y0})/({x1} - {x0})"
            lines.append(slope if e.op == "table_slope" else f"{y0} + {slope}*({u} - {x0})")
        if not lines:
            return "0" if e.op == "table_slope" else ys[0]
        chain = "".join(
            f"if {u} < {x} then {line} else " for x, line in zip(xs[1:-1], lines, strict=False)
        )
        return f"noEvent({chain}{lines[-1]})"


def _number(value: float) -> Piece:
    """The shortest text that reads back as the same double."""
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError(f"{value} has no Modelica text")
    text = repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
    return (text, _ATOM) if value >= 0 and not text.startswith("-") else (text, _SUM)


_PREFIX = {
    Variability.CONSTANT: "constant ",
    Variability.PARAMETER: "parameter ",
    Variability.DISCRETE: "discrete ",
}


def write_class(flat: FlatSystem) -> str:
    """The class with its declarations, equations and when-clauses, all variables real."""
    odd = [v.name for v in flat.variables if v.kind is not Kind.REAL]
    assert not odd, f"only real variables are written, not {odd[:3]}"
    lines = [f"model {identifier(flat.name)}{_comment(flat.description)}"]
    for function in functions_in(*expressions_of(flat)):
        definition = write_function(function, identifier, write_expression, write_truth)
        lines += [f"  {line}" for line in definition]
    lines += [f"  {_declared(v)};" for v in flat.variables]
    if flat.initial_equations:
        lines.append("initial equation")
        lines += [f"  {write_equation(e)};" for e in flat.initial_equations]
    lines.append("equation")
    lines += [f"  {write_equation(e)};" for e in flat.equations]
    for when in flat.whens:
        lines += _when(when)
    return "\n".join([*lines, f"end {identifier(flat.name)};", ""])


def _declared(v: Variable) -> str:
    prefix = _PREFIX.get(v.variability, "")
    if v.causality in ("input", "output"):
        prefix = f"{v.causality} {prefix}"
    attributes = []
    if v.start is not None:
        attributes.append(f"start = {write_expression(v.start)}")
        attributes += ["fixed = true"] if v.fixed else []
    if v.unit:
        attributes.append(f'unit = "{_quoted(v.unit)}"')
    inner = f"({', '.join(attributes)})" if attributes else ""
    value = f" = {write_expression(v.binding)}" if v.binding is not None else ""
    return f"{prefix}Real {identifier(v.name)}{inner}{value}{_comment(v.description)}"


def _when(when: When) -> Iterable[str]:
    for k, branch in enumerate(when.branches):
        yield f"  {'when' if k == 0 else 'elsewhen'} {_condition(branch)} then"
        for action in branch.actions:
            value = write_expression(action.value)
            target = identifier(action.target)
            yield f"    reinit({target}, {value});" if action.reinit else f"    {target} = {value};"
    yield "  end when;"


def _condition(branch: Branch) -> str:
    texts = [write_truth(c) for c in branch.conditions]
    return texts[0] if len(texts) == 1 else f"{{{', '.join(texts)}}}"


def _comment(words: str) -> str:
    return f' "{_quoted(words)}"' if words else ""


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return " ".join(escaped.split())
