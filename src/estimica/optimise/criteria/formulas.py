"""Criteria that are formulas of parameters: no simulation, exact gradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import DesignError
from estimica.base.suggest import did_you_mean
from estimica.compiled.model.interface import Model
from estimica.estimate.objective.parameter_map import ParameterMap
from estimica.flat.expression import Expression
from estimica.flat.intervals import Interval, value_range
from estimica.optimise.criteria.courses import Courses
from estimica.optimise.criteria.population import Population
from estimica.optimise.criteria.score import CriterionInCase, Measure
from estimica.source.formula import Formula, parse_formula


class ValueScorer:
    """Formulas in tuners and parameters of one case."""

    def __init__(
        self,
        model: Model,
        links: ParameterMap,
        fixed: Mapping[str, float],
        places: Sequence[CriterionInCase],
    ) -> None:
        self.places = tuple(places)
        self._links = links
        values = {
            q.name: q.value for q in model.quantities() if q.role in ("parameter", "constant")
        }
        numbers = {n: float(v) for n, v in values.items() if isinstance(v, (int, float))}
        self._fixed = {**numbers, **fixed}
        known = {*self._fixed, *links.parameters, *links.tuners}
        self._formulas = [_formula(p, known) for p in places]
        moving = {*links.parameters, *links.tuners}
        self._partials = [{n: f.partial(n) for n in f.names if n in moving} for f in self._formulas]

    def at(
        self, tuners: Vector, *, slopes: bool, courses: Courses | None = None
    ) -> list[Measure] | str:
        """The values of the formulas and their exact gradients; there is nothing to draw."""
        parameters, chain = self._links.at(tuners)
        names = self._links.tuners
        known = {
            **self._fixed,
            **dict(zip(names, map(float, tuners), strict=True)),
            **dict(zip(self._links.parameters, map(float, parameters), strict=True)),
        }
        measures = []
        for formula, partials in zip(self._formulas, self._partials, strict=True):
            gradient = np.zeros(len(tuners))
            for name, partial in partials.items() if slopes else ():
                slope = float(partial.at(known))
                if name in self._links.parameters:
                    gradient += slope * chain[self._links.parameters.index(name)]
                else:
                    gradient[names.index(name)] += slope
            with np.errstate(all="ignore"):
                measures.append(Measure(float(formula.at(known)), gradient if slopes else None))
        return measures

    def at_all(self, tuners: Vector, courses: Sequence[Courses] = ()) -> Population:
        """The values of the formulas in many designs, (designs, tuners)."""
        many, parameters = len(tuners), self._links.at_many(tuners)[0]
        known: dict[str, float | Vector] = {
            **self._fixed,
            **dict(zip(self._links.tuners, tuners.T, strict=True)),
            **dict(zip(self._links.parameters, parameters.T, strict=True)),
        }
        with np.errstate(all="ignore"):
            columns = [np.broadcast_to(f.at(known), many) for f in self._formulas]
        values = np.column_stack(columns) if columns else np.zeros((many, 0))
        none, all_ = np.zeros(many, bool), np.ones(many, bool)
        return Population(values, np.full(values.shape, np.nan), none, all_)

    def ranges(self, tuners: Sequence[Interval]) -> list[Interval]:
        """What each formula can be worth while the tuners lie in these intervals."""
        known: dict[str, Interval] = {n: (v, v) for n, v in self._fixed.items()}
        known |= dict(zip(self._links.tuners, tuners, strict=True))
        parameters = self._links.written(tuners, _written)
        known |= dict(zip(self._links.parameters, parameters, strict=True))
        return [value_range(f.expression, known) for f in self._formulas]


def _written(expression: Expression, known: Mapping[str, Interval | float]) -> Interval:
    own = {n: v if isinstance(v, tuple) else (v, v) for n, v in known.items()}
    return value_range(expression, own)


def _formula(place: CriterionInCase, known: set[str]) -> Formula:
    criterion = place.criterion
    formula = parse_formula(criterion.of, f"criterion '{criterion.name}'")
    for name in formula.names:
        if name not in known:
            raise DesignError(
                "O012",
                f"criterion '{criterion.name}': '{name}' in '{criterion.of}' is not a tuner or "
                f"parameter{did_you_mean(name, sorted(known))}; what changes over time needs "
                'another kind, as kind = "final"',
            )
    return formula
