"""Noise-free: a study without what only formulas of sigma speak of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from estimica.study.case import Case, Output, OutputColumn
from estimica.study.noise_tuners import noise_tuners
from estimica.study.study import Study


def tuners_of_noise(study: Study) -> frozenset[str]:
    """The tuners that only formulas of sigma speak of: no output moves with them."""
    if not study.noise_names:
        return frozenset()
    known = {*study.formula_names, *(q.name for q in study.model.quantities())}
    return noise_tuners(study.tuners, study.noise_names, known)


def without_noise_tuners(study: Study) -> Study:
    """The same without formulas of sigma and their tuners, for questions about outputs alone."""
    of_noise = tuners_of_noise(study)
    if not study.noise_names:
        return study
    cases = [replace(c, outputs=dict(_plain_outputs(c))) for c in study.cases]
    return study.with_(tuners=[t for t in study.tuners if t.name not in of_noise], cases=cases)


def _plain_outputs(case: Case) -> Iterator[tuple[str, Output]]:
    for name, column in case.outputs.items():
        if isinstance(column, OutputColumn) and isinstance(column.sigma, str):
            column = replace(column, sigma=None, limits=None, distribution="normal")
        yield name, column
