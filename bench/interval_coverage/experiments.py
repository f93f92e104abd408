"""Experiments: the situations that data come from, and data drawn in them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from plants import Plant

import estimica as es

#: where the fit begins, relative to the truth: the search is not what is tried here
BESIDE = 1.03
#: distance of a bound from the truth in standard errors: three estimates in ten lie at it
NEAR = 0.5
#: correlation from one sample to the next of the slow half of coloured noise
SLOW = 0.9


@dataclass(frozen=True)
class Situation:
    """How many samples the two outputs have, and what is awkward about them."""

    samples: tuple[int, int]
    coloured: bool = False
    bounded: bool = False
    known: bool = False  # the standard deviations are told
    quiet: float = 1.0  # factor of the noise: few samples shall not make the model nonlinear


SITUATIONS = {
    "balanced": Situation((30, 30)),
    "unbalanced": Situation((120, 6)),
    "coloured": Situation((200, 200), coloured=True),
    "small N": Situation((6, 6), quiet=0.25),
    "at a bound": Situation((30, 30), bounded=True),
    "known σ": Situation((4, 4), known=True, quiet=0.25),
}


@dataclass(frozen=True, eq=False)
class Laboratory:
    """A plant in a situation: it draws experiments."""

    plant: Plant
    situation: Situation

    @cached_property
    def exact(self) -> pd.DataFrame:
        """The table without noise; an output that is not sampled at a place has no value there."""
        plant, grids = self.plant, [self._grid(n) for n in self.situation.samples]
        # rows of their own for the inputs: a simulation begins with the first of them
        places = np.unique(np.concatenate([[0.0, *plant.corners], *grids]))
        columns = {plant.place: places} | {n: u(places) for n, u in plant.inputs.items()}
        for name, values, own in zip(plant.sigma, plant.exact(places), grids, strict=True):
            columns[name] = np.where(np.isin(places, own), values, np.nan)
        return pd.DataFrame(columns)

    @cached_property
    def sigma(self) -> dict[str, float]:
        """Standard deviations of the noise."""
        return {n: self.situation.quiet * s for n, s in self.plant.sigma.items()}

    def study(self, seed: int) -> es.Study:
        """One experiment, to be fitted from beside the truth."""
        return self._study(self.drawn(seed), self.situation.known, self._bound)

    def drawn(self, seed: int) -> pd.DataFrame:
        """The table of one experiment."""
        table = self.exact.copy()
        for name, values in self.samples(seed).items():
            table.loc[table[name].notna(), name] = values
        return table

    def samples(self, seed: int) -> dict[str, np.ndarray]:
        """What is measured of each output in one experiment, where it is sampled."""
        random = np.random.default_rng([2026, seed])
        return {
            name: self._sampled[name] + sigma * self._noise(len(self._sampled[name]), random)
            for name, sigma in self.sigma.items()
        }

    @cached_property
    def _sampled(self) -> dict[str, np.ndarray]:
        """The same without noise."""
        return {name: self.exact[name].dropna().to_numpy() for name in self.sigma}

    def _grid(self, count: int) -> np.ndarray:
        """Places of an output's samples: none at the start, where nothing has happened."""
        return np.round(np.linspace(0, self.plant.horizon, count + 1)[1:], 9)

    def _noise(self, count: int, random: np.random.Generator) -> np.ndarray:
        """Of variance one: white, or half of it slow and half of it white."""
        white = random.standard_normal(count)
        if not self.situation.coloured:
            return white
        slow = np.empty(count)
        slow[0] = random.standard_normal()
        steps = math.sqrt(1 - SLOW**2) * random.standard_normal(count)
        for k in range(1, count):
            slow[k] = SLOW * slow[k - 1] + steps[k]
        return (white + slow) / math.sqrt(2)

    @cached_property
    def _bound(self) -> float | None:
        """A lower bound a little below the truth of one tuner."""
        if not self.situation.bounded:
            return None
        told = es.fit(self._study(self.exact, known=True, bound=None))
        error = float(told.parameters["stderr"][self.plant.bounded])
        return self.plant.truth[self.plant.bounded] - NEAR * error

    def _study(self, table: pd.DataFrame, known: bool, bound: float | None) -> es.Study:
        plant = self.plant
        case = es.Case(
            "experiment",
            table,
            inputs={n: n for n in (plant.inputs or {plant.place: None}) if n != "time"},
            outputs={n: es.OutputColumn(n, sigma=s) if known else n for n, s in self.sigma.items()},
            free_start={n: BESIDE * plant.truth[n] for n in plant.free_start},
        )
        tuners = [
            es.Tuner(n, start=BESIDE * v, **self._limits(n, bound), **plant.tuning)
            for n, v in plant.tuners.items()
        ]
        return es.Study(plant.model, tuners, [case], "ml" if known else plant.criterion)

    def _limits(self, name: str, bound: float | None) -> dict[str, Any]:
        return {} if bound is None or name != self.plant.bounded else {"min": bound}
