"""What a Modelica model says about its parameters and variables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from estimica.base.quantities import Quantity
from estimica.compiled.model.observations import TIME, Observations
from estimica.compiled.tunability import why_not_tunable
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.serialise import to_json
from estimica.flat.system import Equation, FlatSystem, Kind, Origin, Variability, Variable
from estimica.source.cache import content_key
from estimica.structure.sorted_system import SortedSystem

if TYPE_CHECKING:
    from estimica.compiled.equations import Equations

FIXED = ("parameter", "constant")


class Attributes:
    """Gives the number of an attribute at the loaded parameter values."""

    def __init__(self, equations: Equations, values: Mapping[str, float]) -> None:
        self._equations = equations
        self._P = np.array([values[n] for n in equations.constants])
        self._cache: dict[Expression, float | None] = {}

    def __call__(self, expression: Expression | None) -> float | None:
        """The number, or None where there is none."""
        if expression is None:
            return None
        if expression.op == "const":
            return expression.value
        if expression not in self._cache:
            self._cache[expression] = self._evaluated(expression)
        return self._cache[expression]

    def _evaluated(self, expression: Expression) -> float | None:
        import casadi as ca

        from estimica.compiled.equations import translate

        e = self._equations
        try:
            value = translate([expression], e.leaf_with({}))[0]
            result = ca.Function("value", [e.P], [value], {"allow_free": False})(self._P)
        except (KeyError, RuntimeError):
            return None
        return float(result)


def roles_of(flat: FlatSystem, system: SortedSystem) -> dict[str, str]:
    """Whether each variable is a parameter, an input, a state, …"""
    roles = {v.name: "algebraic" for v in flat.variables}
    for names, role in (
        (system.aliases, "alias"),
        (system.parameters, "parameter"),
        (system.inputs, "input"),
        (system.states, "state"),
        (system.memories, "memory"),
        (system.logicals, "logical"),
    ):
        roles.update(dict.fromkeys(names, role))
    for v in flat.variables:
        if v.variability is Variability.CONSTANT:
            roles[v.name] = "constant"
        elif v.variability is Variability.PARAMETER:
            roles[v.name] = "parameter"
    return roles


def quantities_of(
    variables: Iterable[Variable],
    system: SortedSystem,
    roles: Mapping[str, str],
    values: Mapping[str, float],
    number: Attributes,
) -> list[Quantity]:
    """Every variable with its metadata; `values` are those of parameters as loaded."""
    quantities = []
    for v in variables:
        role = roles.get(v.name, "algebraic")
        reason = why_not_tunable(system, v.name) if role in FIXED else ""
        plain = values.get(v.name) if role in FIXED else None
        if plain is None:
            plain = number(v.binding if role in FIXED else v.start)
        low, high = number(v.minimum), number(v.maximum)
        if v.kind is Kind.STRING:
            reason = "it is of type String"
        quantities.append(
            Quantity(
                v.name,
                _typed(v, plain),
                v.unit,
                v.description,
                -np.inf if low is None else low,
                np.inf if high is None else high,
                number(v.nominal),
                str(v.kind),
                role,
                role == "parameter" and not reason,
                reason,
                v.origin.place,
                _is_difference(v),
            )
        )
    return quantities


def _is_difference(v: Variable) -> bool | None:
    """Whether a temperature is a difference; None where the declaration does not say.

    The standard library's types differ by this alone: a Temperature has a least value and is shown
    in degC, a TemperatureDifference has neither.
    """
    if v.quantity == "TemperatureDifference":
        return True
    absolute = v.display_unit in ("degC", "degF") or v.minimum is not None
    return False if absolute else True if v.quantity == "ThermodynamicTemperature" else None


def _typed(v: Variable, value: float | None) -> float | bool | int | str | None:
    """A number as the type of its variable has it."""
    if v.kind is Kind.STRING:
        return v.text
    if v.kind is Kind.BOOLEAN and value is not None:
        return bool(value)
    # what is not finite is not an integer: it stays what it is, as the table shows it
    if v.kind in (Kind.INTEGER, Kind.ENUMERATION) and value is not None and np.isfinite(value):
        listed = v.literals and 0 < value <= len(v.literals)
        return v.literals[int(value) - 1] if listed else int(value)
    return value


# ----------------------------------------------------------------
# Observed outputs of a Modelica class: equations that are added to it.


NO_VALUE = ex.const(math.nan)


def with_observations(flat: FlatSystem, observations: Observations) -> FlatSystem:
    """The class with a variable and an equation for every output that is a formula.

    Their parameters have no value of their own: a tuner or a case gives it.
    """
    parameters = [
        Variable(n, variability=Variability.PARAMETER, fixed=True, binding=NO_VALUE)
        for n in observations.parameters
    ]
    outputs = [Variable(n, causality="output", description=text) for n, text in observations.texts]
    inflows = {name: value for name, value in flat.inflows if name not in flat.by_name}
    equations = [
        Equation(ex.name(n), _of_model(f.expression, inflows), Origin(f.text, kind="output"))
        for n, f in observations.formulas.items()
    ]
    added = replace(
        flat,
        variables=(*flat.variables, *parameters, *outputs),
        equations=(*flat.equations, *equations),
    )
    return added.named(content_key(to_json(added)))


def _of_model(e: Expression, inflows: Mapping[str, Expression]) -> Expression:
    """A formula in which `time` is the independent variable and inStream(…) what it means."""
    meant = {ex.name(TIME): ex.TIME} | {ex.name(n): value for n, value in inflows.items()}
    return ex.rewrite([e], lambda node: meant.get(node, node))[0]
