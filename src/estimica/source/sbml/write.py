"""Written: explicit equations as an SBML model: rate rules and assignment rules of parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from estimica.base.errors import UnsupportedError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.source.sbml.mathematics import libsbml

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "^", "and": "&&", "or": "||"}
_RELATIONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_FUNCTIONS = {"log": "ln", "ceil": "ceil", "neg": "-", "not": "!", "asin": "arcsin"}
_FUNCTIONS |= {"acos": "arccos", "atan": "arctan"}
_SAME = frozenset(
    ["sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log10", "sqrt", "abs", "floor", "min"]
) | {"max"}


@dataclass(frozen=True)
class ExplicitModel:
    """A model in explicit form; names are SBML identifiers already."""

    name: str
    parameters: Mapping[str, Expression | None]  # constants and what they are
    rates: Mapping[str, Expression]  # der(x)
    starts: Mapping[str, Expression]  # x at the start
    assignments: Sequence[tuple[str, Expression]]


def write_sbml(rules: ExplicitModel) -> str:
    """The SBML text, Level 3 Version 2."""
    lib = libsbml("writing an SBML model")
    document = lib.SBMLDocument(3, 2)
    model = document.createModel(rules.name)
    assigned = dict(rules.assignments)
    for name in (*rules.parameters, *rules.rates, *assigned):
        one = model.createParameter()
        one.setId(name)
        one.setConstant(name in rules.parameters)
        value = rules.parameters.get(name) or rules.starts.get(name)
        if value is not None and value.op == "const":
            one.setValue(value.value)
        elif value is not None:
            first = model.createInitialAssignment()
            first.setSymbol(name)
            _set_math(lib, first, value)
    for name, rate in rules.rates.items():
        rule = model.createRateRule()
        rule.setVariable(name)
        _set_math(lib, rule, rate)
    for name, value in rules.assignments:
        rule = model.createAssignmentRule()
        rule.setVariable(name)
        _set_math(lib, rule, value)
    return str(lib.writeSBMLToString(document))


def _set_math(lib: Any, element: Any, e: Expression) -> None:
    settings = lib.L3ParserSettings()
    settings.setParseUnits(lib.L3P_NO_UNITS)
    settings.setParseAvogadroCsymbol(lib.L3P_AVOGADRO_IS_NAME)
    settings.setParseLog(lib.L3P_PARSE_LOG_AS_LN)
    text = write_formula(e)
    node = lib.parseL3FormulaWithSettings(text, settings)
    assert node is not None, text
    element.setMath(node)


def write_formula(e: Expression) -> str:
    """An expression as PEtab and libsbml read it, with brackets around everything compound."""
    texts: dict[Expression, str] = {}
    for x in ex.walk(e):
        texts[x] = _piece(x, [texts[a] for a in x.operands])
    return texts[e]


def _piece(e: Expression, args: Sequence[str]) -> str:
    if e.op == "const":
        return repr(e.value) if e.value >= 0 else f"({e.value!r})"
    if e.op == "name":
        return e.target
    if e.op == "time":
        return "time"
    if e.op in _INFIX:
        return f"({args[0]} {_INFIX[e.op]} {args[1]})"
    if e.op in _RELATIONS:
        return f"({args[0]} {_RELATIONS[e.op]} {args[1]})"
    if e.op in ("neg", "not"):
        return f"({_FUNCTIONS[e.op]}{args[0]})"
    if e.op == "if":
        return f"piecewise({args[1]}, {args[0]}, {args[2]})"
    if e.op in ex.WRAPPERS:
        return args[0]
    if e.op in _FUNCTIONS or e.op in _SAME:
        return f"{_FUNCTIONS.get(e.op, e.op)}({', '.join(args)})"
    raise UnsupportedError("U065", f"'{e.op}' has no form in SBML; leave it out of the model")
