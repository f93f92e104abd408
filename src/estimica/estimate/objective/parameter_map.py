"""ParameterMap: how the model's parameters follow from the tuners.

A tuner sets the parameter of its own name, the parameters that it drives, or parameters given by
expressions in tuners; the derivatives go through the chain rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import TypeVar

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import TunerError
from estimica.base.saving.packing import restores
from estimica.flat.expression import Expression
from estimica.source.formula import Formula, parse_formula
from estimica.study.case import Case
from estimica.study.tuner import Tuner

Symbol = TypeVar("Symbol")


@restores
class ParameterMap:
    """Parameters as functions of the active tuners; `fixed` are values of the inactive ones.

    `driven` says which parameters follow a tuner, where that is not the tuner's own affair.
    """

    def __init__(
        self,
        active: Sequence[Tuner],
        fixed: Mapping[str, float],
        driven: Callable[[Tuner], Mapping[str, str]] = lambda tuner: tuner.driven,
    ) -> None:
        self.tuners = tuple(t.name for t in active)
        self.fixed = dict(fixed)
        places: dict[str, int] = {}
        formulas: dict[str, Formula] = {}
        for k, tuner in enumerate(active):
            for name, text in driven(tuner).items():
                if name in places or name in formulas:
                    raise TunerError(
                        "T010", f"tuner '{tuner.name}': parameter '{name}' is set by two tuners"
                    )
                if text.strip() == tuner.name:
                    places[name] = k
                else:
                    formulas[name] = self._formula(f"tuner '{tuner.name}'", "drives", text)
        self._arrange(places, formulas)

    def _arrange(self, places: Mapping[str, int], formulas: Mapping[str, Formula]) -> None:
        self._direct, self._derived = dict(places), dict(formulas)
        self.parameters = (*places, *formulas)
        self._places = np.array(list(places.values()), int)
        self._formulas = tuple(formulas.values())
        self._partials = tuple(
            {n: f.partial(n) for n in f.names if n in self.tuners} for f in self._formulas
        )
        self._constant = np.zeros((len(self.parameters), len(self.tuners)))
        self._constant[np.arange(len(places)), self._places] = 1.0

    def of_case(self, case: Case) -> ParameterMap:
        """The same with what `fix` of a case lets follow from tuners."""
        if not case.followed and not case.staged_names:
            return self
        where = f"case '{case.name}'"
        own = {n: self._formula(where, f"fix '{n}'", t) for n, t in case.followed.items()}
        for name in case.staged_names:  # tuners that expressions of changes name as they are
            if name in {*self.tuners, *self.fixed} and name not in {*self.parameters, *own}:
                own[name] = self._formula(where, "change", name)
        own_map = copy(self)
        own_map._arrange(
            {n: k for n, k in self._direct.items() if n not in own},
            {n: f for n, f in self._derived.items() if n not in own} | own,
        )
        return own_map

    def with_own(self, names: Sequence[str]) -> ParameterMap:
        """The same where these active tuners are also parameters of their own names."""
        own_map = copy(self)
        more = {n: self.tuners.index(n) for n in names if n not in self.parameters}
        own_map._arrange({**self._direct, **more}, self._derived)
        return own_map

    @property
    def is_one_to_one(self) -> bool:
        """Whether the parameters are the tuners, in the same order."""
        return not self._formulas and np.array_equal(self._places, np.arange(len(self.tuners)))

    def at(self, tuners: Vector) -> tuple[Vector, Vector]:
        """(parameters, d(parameters)/d(tuners)) at values of the active tuners."""
        direct = tuners[self._places]
        if not self._formulas:
            return direct, self._constant
        known = self.fixed | dict(zip(self.tuners, map(float, tuners), strict=True))
        derived = [float(f.at(known)) for f in self._formulas]
        slopes = self._constant.copy()
        for i, partials in enumerate(self._partials, start=len(self._places)):
            for name, partial in partials.items():
                slopes[i, self.tuners.index(name)] = float(partial.at(known))
        return np.concatenate([direct, derived]), slopes

    def at_many(self, tuners: Vector) -> tuple[Vector, Vector]:
        """The same at (L, tuners): parameters (L, p), and their derivatives (L, p, tuners)."""
        many = len(tuners)
        direct = tuners[:, self._places]
        slopes = np.broadcast_to(self._constant, (many, *self._constant.shape))
        if not self._formulas:
            return direct, slopes
        own = {n: np.ascontiguousarray(tuners[:, k]) for k, n in enumerate(self.tuners)}
        known: dict[str, float | Vector] = {**self.fixed, **own}
        derived = [np.broadcast_to(f.at(known), (many,)) for f in self._formulas]
        slopes = slopes.copy()
        for i, partials in enumerate(self._partials, start=len(self._places)):
            for name, partial in partials.items():
                slopes[:, i, self.tuners.index(name)] = partial.at(known)
        return np.column_stack([direct, *derived]), slopes

    def written(
        self,
        tuners: Sequence[Symbol],
        write: Callable[[Expression, Mapping[str, Symbol | float]], Symbol],
    ) -> list[Symbol]:
        """The parameters as symbols; `write` turns an expression of named symbols into one."""
        known: dict[str, Symbol | float] = dict(self.fixed)
        known.update(zip(self.tuners, tuners, strict=True))
        direct = [tuners[int(k)] for k in self._places]
        return [*direct, *(write(f.expression, known) for f in self._formulas)]

    def _formula(self, where: str, key: str, text: str) -> Formula:
        formula = parse_formula(text, where)
        known = {*self.tuners, *self.fixed}
        for name in formula.names:
            if name not in known:
                raise TunerError(
                    "T011",
                    f"{where}: '{name}' in '{text}' is not a tuner; an expression in "
                    f"{key} is written in tuners ({', '.join(sorted(known))})",
                )
        return formula
