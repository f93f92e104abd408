"""Observed outputs of a Modelica class: equations that are added to it."""

from __future__ import annotations

import math
from dataclasses import replace

from estimica.compiled.model.observations import TIME, Observations
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.serialise import to_json
from estimica.flat.system import Equation, FlatSystem, Origin, Variability, Variable
from estimica.source.cache import content_key

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
    equations = [
        Equation(ex.name(n), _of_time(f.expression), Origin(f.text, kind="output"))
        for n, f in observations.formulas.items()
    ]
    added = replace(
        flat,
        variables=(*flat.variables, *parameters, *outputs),
        equations=(*flat.equations, *equations),
    )
    return added.named(content_key(to_json(added)))


def _of_time(e: Expression) -> Expression:
    """A formula in which `time` is the independent variable."""
    leaf = ex.name(TIME)
    return ex.rewrite([e], lambda node: ex.TIME if node is leaf else node)[0]
