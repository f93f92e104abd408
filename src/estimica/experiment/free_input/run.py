"""Free-form inputs: the course of one or several inputs that tells most about named tuners.

R. K. Mehra, Optimal input signals for parameter estimation in dynamic systems, IEEE Trans. Autom.
Control 19 (1974); V. V. Fedorov, Theory of optimal experiments (1972). The input is piecewise
constant within limits of amplitude, rate, energy and outputs; the information of the experiment at
given noise is raised by IPOPT with exact gradients, from several starts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from time import perf_counter

from estimica.base.arrays import Vector
from estimica.experiment.free_input.result import FreeInput
from estimica.experiment.free_input.work import FreeInputDesign, Progress, SearchBudget
from estimica.study.study import Study
from estimica.study.tables.input_design import InputDesignTable

__all__ = ["FreeInput", "Progress", "free_input"]


def free_input(
    study: Study,
    table: InputDesignTable,
    *,
    values: Mapping[str, float] | None = None,
    sigma: Mapping[str, float] | None = None,
    reference: Mapping[str, Vector] | None = None,
    iterations: int = 200,
    seconds: float = math.inf,
    progress: Callable[[Progress], None] | None = None,
) -> FreeInput:
    """The input that tells most about the tuners of a study, within the limits of `table`.

    `values` and `sigma` stand in for the tuners' values and the noise of the study; `reference` are
    samples of the designed inputs to compare with, by default the best of the class of signals in
    `table`, or the best square wave over frequency and amplitude. Ctrl-C ends the
    search, and the best input so far is handed back.
    """
    begun = perf_counter()
    work = FreeInputDesign.of(study, table, values, sigma)
    held = work.reference(reference, table)
    if table.energy == "class":
        work = work.with_energy(held)
    terms = SearchBudget(table.starts, table.seed, iterations, begun + seconds)
    found = work.searched(held, terms, progress or _quiet)
    return work.concluded(held, found, perf_counter() - begun)


def _quiet(told: Progress) -> None:
    """Nobody listens."""
