"""TrajectoryFunction: a criterion of the user's own, a Python function of the trajectory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from estimica.base.code.reference import CodeRefusedError
from estimica.base.code.run import run_code
from estimica.base.code.trusted import TrustedCode, trusted_code
from estimica.base.errors import DesignError, EstimicaError
from estimica.base.suggest import did_you_mean
from estimica.compiled.model.interface import Model
from estimica.optimise.criteria.signals import Sampled
from estimica.source.formula import parse_formula
from estimica.study.criterion import Criterion


@dataclass(frozen=True, eq=False)
class TrajectoryFunction:
    """f(trajectory): a mapping of names to arrays, `time` among them, and of parameters."""

    name: str
    call: Callable[..., Any]
    of: str

    def variables(self, model: Model) -> list[str]:
        """What it gets: the names in `of`, or all outputs and states."""
        known = {q.name: q for q in model.quantities()}
        if self.of:
            return [n for n in parse_formula(self.of).names if n in known]
        states = [q.name for q in known.values() if q.role == "state"]
        return list(dict.fromkeys([*model.output_names(), *states]))

    def at(self, run: Sampled) -> float:
        """The value; it has no gradient of its own."""
        try:
            value = float(self.call(dict(run.values)))
        except Exception as error:  # the user's own code
            kind = type(error).__name__
            raise DesignError("O038", f"criterion '{self.name}': {kind}: {error}") from None
        return value if np.isfinite(value) else float("nan")


def trajectory_function(
    criterion: Criterion, code_for: Callable[[str], TrustedCode] | None
) -> TrajectoryFunction:
    """The function that `file.py:function` names; `code_for` gives its code."""
    text = criterion.function or ""
    where = f"criterion '{criterion.name}'"
    try:
        code = code_for(text) if code_for else trusted_code(text, Path())
    except CodeRefusedError as error:
        raise DesignError("O039", f"{where}: {error}") from None
    if not code.function:
        raise DesignError("O039", f"{where}: function '{text}' is not written as file.py:function")
    file = code.folder / code.entry.name
    try:
        found = run_code(code).names
    except EstimicaError:
        raise
    except Exception as error:  # the user's code may raise anything
        raise DesignError(
            "O039", f"{where}: '{file}' cannot be run: {type(error).__name__}: {error}"
        ) from None
    if not callable(found.get(code.function)):
        names = [n for n, v in found.items() if callable(v) and not n.startswith("_")]
        hint = did_you_mean(code.function, names)
        raise DesignError("O039", f"{where}: '{file}' has no function '{code.function}'{hint}")
    return TrajectoryFunction(criterion.name, found[code.function], criterion.of)
