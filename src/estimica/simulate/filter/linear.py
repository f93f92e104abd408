"""Transfer functions and state-space models as Modelica models, for filters to follow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NoReturn
from weakref import WeakKeyDictionary

from estimica.base.errors import ModelError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.modelica_text import write_expression
from estimica.simulate.linear.model import LinearModel
from estimica.simulate.load import load_model
from estimica.simulate.modelica.model import ModelicaModel

_PLAIN = re.compile(r"[A-Za-z_]\w*$", re.ASCII)
_kept: WeakKeyDictionary[LinearModel, ModelicaModel] = WeakKeyDictionary()


def as_modelica(model: LinearModel) -> ModelicaModel:
    """The same equations with the same names; kept."""
    if model not in _kept:
        _require_possible(model)
        found = load_model(_text(model))
        assert isinstance(found, ModelicaModel)
        _kept[model] = found
    return _kept[model]


def _require_possible(model: LinearModel) -> None:
    if model.sample_time is not None:
        _refuse(model, "is in discrete time", "write it in s, or use criterion 'ml'")
    if any(not _is_zero(late) for late in model.system.T):
        _refuse(model, "has a delay", "use criterion 'ml' for it")
    if model.initial == "steady":
        _refuse(model, "begins at steady state", "use initial 'rest' with free_start")
    names = (*model.output_names(), *model.input_names, *model.state_names, *model.parameter_names)
    for name in names:
        if not _PLAIN.match(name):
            _refuse(model, f"has the name '{name}'", "use letters, digits and _ in names")


def _refuse(model: LinearModel, what: str, advice: str) -> NoReturn:
    message = f"model '{model.name}' {what}, which a filter does not follow; {advice}"
    raise ModelError("M243", message)


def _is_zero(e: Expression) -> bool:
    return e.op == "const" and e.value == 0.0


def _text(model: LinearModel) -> str:
    s, inputs, states = model.system, model.input_names, model.state_names
    # a parameter without a value is tuned or given: 1 is never used
    lines = [f"parameter Real {n} = {model.values.get(n, 1.0)!r};" for n in model.parameter_names]
    lines += [f"input Real {n};" for n in inputs]
    lines += [f"Real {n}(start = 0, fixed = true);" for n in states]
    lines += [f"Real {n};" for n in model.output_names()]
    lines.append("equation")
    for name, A, B in zip(states, s.A, s.B, strict=True):
        lines.append(f"der({name}) = {_sum((*A, *B), (*states, *inputs))};")
    for name, C, D in zip(model.output_names(), s.C, s.D, strict=True):
        lines.append(f"{name} = {_sum((*C, *D), (*states, *inputs))};")
    return "model Linear\n  " + "\n  ".join(lines) + "\nend Linear;"


def _sum(entries: Sequence[Expression], names: Sequence[str]) -> str:
    terms = [ex.mul(e, ex.name(n)) for e, n in zip(entries, names, strict=True) if not _is_zero(e)]
    return " + ".join(f"({write_expression(t)})" for t in terms) or "0"
