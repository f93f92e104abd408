"""The model and its sensitivity equations as one Modelica class.

For every continuous equation f(x', x, u, θ) = 0 and every tuner θ the class also holds
    f_x' x̃' + f_x x̃ + f_θ = 0,    x̃ = dx/dθ,
so that any Modelica tool that simulates it finds the sensitivities among its variables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from estimica.base.errors import ModelError, UnsupportedError
from estimica.base.suggest import did_you_mean
from estimica.flat import expression as ex
from estimica.flat.calculus import DerivativeError, tangent
from estimica.flat.expression import Expression
from estimica.flat.function import Foreign, functions_in, statements
from estimica.flat.function_text import write_function
from estimica.flat.modelica_text import identifier, write_expression, write_truth
from estimica.flat.system import Equation, FlatSystem, Kind, Variability, Variable
from estimica.structure.jump_free import jumps

Seed = Callable[[Expression], Expression]


@dataclass(frozen=True)
class SensitivitySystem:
    """The written class: its text, and where each sensitivity stands in it."""

    name: str
    text: str
    names: dict[str, str]  # variable of the model -> variable of the class
    sensitivities: dict[tuple[str, str], str]  # (variable, tuner) -> variable of the class


def extended_system(
    flat: FlatSystem,
    wrt: Sequence[str],
    name: str | None = None,
    values: Mapping[str, float] | None = None,
) -> SensitivitySystem:
    """The extended system of a model whose sensitivities do not jump: f₋ = f₊ at its events."""
    if values:
        flat = _with_values(flat, values)
    if name is not None and identifier(name) != name:
        raise ModelError("M058", f"'{name}' is not a name for a Modelica class; write Extended")
    _refuse(flat, wrt)
    _refuse_jumps(flat, wrt)
    spelt = _spellings(v.name for v in flat.variables)
    continuous = [v for v in flat.variables if _is_continuous(v)]
    free = [v for v in flat.variables if _is_free(v)]
    title = name or re.sub(r"\W", "_", flat.name.rsplit(".", 1)[-1]) + "_sensitivities"
    taken = set(spelt.values()) | {title}
    tilde = {
        (v.name, p): _unused(f"d_{spelt[v.name]}_d_{spelt.get(p, p)}", taken)
        for p in wrt
        for v in (*continuous, *free)
    }
    writer = _Writer(flat, spelt, tilde)
    try:
        functions = writer.functions(wrt)
    except DerivativeError as error:
        raise UnsupportedError(
            "U052",
            f"the sensitivity system of '{flat.name}' cannot be written: {error}; {_WAY_OUT}",
        ) from None
    parts = [
        f'model {title} "{_quoted(flat.name)} with its sensitivity equations"',
        *functions,
        *(writer.declaration(v) for v in flat.variables if v.kind is not Kind.STRING),
        *(writer.sensitivity_declaration(v, p) for p in wrt for v in (*continuous, *free)),
        *writer.section("initial equation", flat.initial_equations, wrt),
        *writer.section("equation", flat.equations, wrt),
        f"end {title};",
        "",
    ]
    return SensitivitySystem(title, "\n".join(parts), spelt, tilde)


class _Writer:
    """Writes declarations and equations with the new names."""

    def __init__(
        self, flat: FlatSystem, spelt: dict[str, str], tilde: dict[tuple[str, str], str]
    ) -> None:
        self.flat, self.spelt, self.tilde = flat, spelt, tilde
        self.known = {**spelt, **{name: name for name in tilde.values()}}
        self.memos: dict[str, dict[Expression, Expression]] = {}

    def text(self, e: Expression) -> str:
        return write_expression(e, lambda n: self.known[n])

    def tangent(self, e: Expression, tuner: str) -> Expression:
        memo = self.memos.setdefault(tuner, {})
        return tangent([e], self._seed(tuner), memo)[0]

    def _seed(self, tuner: str) -> Seed:
        def seed(leaf: Expression) -> Expression:
            if leaf.op not in ("name", "der"):
                return ex.ZERO
            new = self.tilde.get((leaf.target, tuner))
            if new is not None:
                return ex.name(new) if leaf.op == "name" else ex.der(new)
            if leaf.op == "name" and leaf.target == tuner:
                return ex.ONE
            binding = self.flat.by_name[leaf.target].binding
            return self.tangent(binding, tuner) if binding is not None else ex.ZERO

        return seed

    def functions(self, wrt: Sequence[str]) -> list[str]:
        """The functions that equations call, and their derivatives, defined inside the class."""
        equations = (*self.flat.equations, *self.flat.initial_equations)
        plain = [side for e in equations for side in (e.lhs, e.rhs)]
        given = [x for v in self.flat.variables for x in (v.binding, v.start) if x is not None]
        moved = [self.tangent(e, p) for p in wrt for e in (*plain, *given)]
        lines: list[str] = []
        for function in functions_in(*plain, *given, *moved):
            if any(isinstance(s, Foreign) for s in statements(function.body)):
                raise DerivativeError(f"function '{function.name}' is written in another language")
            lines += write_function(function, identifier, write_expression, write_truth)
        return [f"  {line}" for line in lines]

    def declaration(self, v: Variable) -> str:
        kind = "Integer" if v.kind is Kind.ENUMERATION else str(v.kind)
        prefix = {
            Variability.CONSTANT: "constant ",
            Variability.PARAMETER: "parameter ",
            Variability.DISCRETE: "discrete " if v.kind is Kind.REAL else "",
        }.get(v.variability, "")
        if v.causality in ("input", "output"):
            prefix = f"{v.causality} "
        attributes = {}
        if (
            v.start is not None
            and v.variability not in (Variability.CONSTANT,)
            and v.binding is None
        ):
            attributes["start"] = self._value(v, v.start)
        if v.variability is Variability.PARAMETER and _is_free(v):
            attributes["fixed"] = "false"
        elif v.fixed and v.variability is not Variability.PARAMETER:
            attributes["fixed"] = "true"
        if v.unit and v.kind is Kind.REAL:
            attributes["unit"] = f'"{_quoted(v.unit)}"'
        value = f" = {self._value(v, v.binding)}" if v.binding is not None else ""
        return self._line(prefix + kind, self.spelt[v.name], attributes, value, v.description)

    def _value(self, v: Variable, e: Expression) -> str:
        if v.kind is Kind.BOOLEAN and e.op == "const":
            return "true" if e.value else "false"
        return self.text(e)

    def sensitivity_declaration(self, v: Variable, tuner: str) -> str:
        attributes = {"start": "0"}
        if v.start is not None:
            attributes["start"] = self.text(self.tangent(v.start, tuner))
        prefix = "Real"
        if v.variability is Variability.PARAMETER:
            prefix, attributes["fixed"] = "parameter Real", "false"
        elif v.fixed:
            attributes["fixed"] = "true"
        return self._line(
            prefix, self.tilde[v.name, tuner], attributes, "", f"d({v.name})/d({tuner})"
        )

    @staticmethod
    def _line(kind: str, name: str, attributes: dict[str, str], value: str, words: str) -> str:
        inside = ", ".join(f"{k} = {t}" for k, t in attributes.items())
        comment = f' "{_quoted(words)}"' if words else ""
        return f"  {kind} {name}{f'({inside})' if inside else ''}{value}{comment};"

    def section(self, title: str, equations: Iterable[Equation], wrt: Sequence[str]) -> list[str]:
        lines = []
        for e in equations:
            lines.append(f"  {self._side(e.lhs)} = {self.text(e.rhs)};")
        for p in wrt:
            for e in equations:
                lhs, rhs = (self.tangent(side, p) for side in (e.lhs, e.rhs))
                if not (lhs is ex.ZERO and rhs is ex.ZERO):
                    lines.append(f"  {self._side(lhs)} = {self.text(rhs)};")
        return [title, *lines] if lines else []

    def _side(self, e: Expression) -> str:
        text = self.text(e)
        return f"({text})" if e.op == "if" else text


def _refuse(flat: FlatSystem, wrt: Sequence[str]) -> None:
    if flat.whens:
        raise UnsupportedError(
            "U050",
            f"the sensitivity system of '{flat.name}' cannot be written: {flat.whens[0].origin} "
            f"makes values jump; {_WAY_OUT}",
        )
    if not wrt:
        raise ModelError("M037", "wrt is empty; name at least one parameter")
    _require_parameters(flat, wrt)


def _require_parameters(flat: FlatSystem, names: Iterable[str]) -> None:
    parameters = [
        v.name
        for v in flat.variables
        if v.variability is Variability.PARAMETER and v.kind is Kind.REAL and not v.evaluated
    ]
    for p in names:
        if p not in parameters:
            known = flat.by_name.get(p)
            if known is not None and known.variability is Variability.CONTINUOUS:
                raise ModelError(
                    "M004",
                    f"'{p}' is a variable of model '{flat.name}', not a parameter; for its start "
                    f"value, declare a parameter and write {p}(start = ..., fixed = true) with it",
                )
            if known is not None and known.evaluated:
                raise ModelError(
                    "M004", f"parameter '{p}' of '{flat.name}' cannot be tuned: {known.evaluated}"
                )
            raise ModelError(
                "M004", f"model '{flat.name}' has no parameter '{p}'{did_you_mean(p, parameters)}"
            )


def _with_values(flat: FlatSystem, values: Mapping[str, float]) -> FlatSystem:
    """The same with other values of parameters, which are written into the class."""
    _require_parameters(flat, values)
    return replace(
        flat,
        variables=tuple(
            replace(v, binding=ex.const(float(values[v.name]))) if v.name in values else v
            for v in flat.variables
        ),
    )


_WAY_OUT = (
    "use model.sensitivities (estimica simulate --sensitivity NAME), which knows how sensitivities "
    "jump"
)


def _refuse_jumps(flat: FlatSystem, wrt: Sequence[str]) -> None:
    """Refuse relations whose change makes sensitivities jump, which equations cannot say."""
    for jump in jumps(flat, wrt):
        raise UnsupportedError(
            "U051",
            f"the sensitivity system of '{flat.name}' cannot be written: {jump.origin} is not "
            f"continuous where '{jump.condition}' changes, so that sensitivities jump there; "
            f"{_WAY_OUT}; where both branches do agree there, write smooth(0, ...) around them",
        )


def _is_continuous(v: Variable) -> bool:
    return (
        v.kind is Kind.REAL and v.variability is Variability.CONTINUOUS and v.causality != "input"
    )


def _is_free(v: Variable) -> bool:
    """A parameter that the initial equations determine."""
    return (
        v.variability is Variability.PARAMETER
        and v.kind is Kind.REAL
        and v.binding is None
        and not v.fixed
    )


def _spellings(names: Iterable[str]) -> dict[str, str]:
    """Plain identifiers for dotted and indexed names, all different."""
    taken: set[str] = {"time"}
    return {n: _unused(re.sub(r"\W+", "_", n).strip("_") or "v", taken) for n in names}


def _unused(wish: str, taken: set[str]) -> str:
    if wish[0].isdigit():
        wish = f"v{wish}"
    name, k = wish, 2
    while name in taken:
        name, k = f"{wish}_{k}", k + 1
    taken.add(name)
    return name


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
