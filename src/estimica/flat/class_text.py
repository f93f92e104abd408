"""A whole FlatSystem as the text of one Modelica class."""

from __future__ import annotations

from collections.abc import Iterable

from estimica.flat.modelica_text import identifier, write_equation, write_expression, write_truth
from estimica.flat.system import Branch, FlatSystem, Kind, Variability, Variable, When

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
