"""Studies whose criteria are formulas of tuners: no simulation, known solutions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import estimica as es
from estimica.simulate.formula import formula_model


def formula_study(
    tuners: Mapping[str, float | tuple[float, float, float]], criteria: Sequence[es.Criterion]
) -> es.Study:
    """Tuners with their start, or start and bounds."""
    own = []
    for name, given in tuners.items():
        if isinstance(given, tuple):
            own.append(es.Tuner(name, start=given[0], min=given[1], max=given[2]))
        else:
            own.append(es.Tuner(name, start=given))
    model = formula_model({c.name: c.of for c in criteria}, ())
    return es.Study(model, own, [], criteria=list(criteria))
