"""Noise among the unknowns of a prediction: that of measuring, which is free from the first step
on, and that in the states, which is released from none."""

from __future__ import annotations

from estimica.base.arrays import Flags
from estimica.estimate.noise_starts import is_no_noise
from estimica.estimate.objective.cost import Objective
from estimica.estimate.setup import Setup
from estimica.infer.likelihood_ratio.mixture import MixtureDistribution, mixture
from estimica.infer.likelihood_ratio.partial_fit import FreeState
from estimica.infer.release.order import Group
from estimica.infer.release.search import ALIKE_ML
from estimica.study.noise.process import names_in_levels


def state_noise(setup: Setup, objective: Objective) -> tuple[int, ...]:
    """The places of tuners that say how much noise is in the states, or where they begin."""
    study, floors = setup.study, setup.noise_floors
    names = names_in_levels([*study.process_noise.values(), *study.filter.spreads.values()])
    items = objective.unknowns.items
    return tuple(
        k
        for k, u in enumerate(items)
        if u.kind == "tuner" and u.name in names & floors.keys() and u.min <= floors[u.name] * 1.001
    )


def measuring_noise(setup: Setup, objective: Objective) -> tuple[int, ...]:
    """The places of tuners that say how much noise measuring has."""
    of_states = state_noise(setup, objective)
    items = objective.unknowns.items
    return tuple(
        k
        for k, u in enumerate(items)
        if u.kind == "tuner" and u.name in setup.noise_floors and k not in of_states
    )


def none_at(setup: Setup, objective: Objective, state: FreeState) -> Flags:
    """The noise levels that are none in a state of the release."""
    unknowns = objective.unknowns
    return is_no_noise(unknowns, unknowns.values(state.q), setup.noise_floors)


def noise_law(
    setup: Setup, objective: Objective, null: FreeState, state: FreeState, group: Group
) -> MixtureDistribution | None:
    """The law of what noise gains that the null model does not have; None of other groups."""
    none = none_at(setup, objective, null)
    bounded = [k for k in group.unknowns if none[k]]
    if not bounded or group.noise:
        return None
    free = ~state.held(len(state.q))
    gained = null.cost - state.cost
    # searches that end at one optimum differ by so little
    gained = gained if gained > ALIKE_ML else 0.0
    floors = setup.noise_floors
    return mixture(objective, null.q, free, group.unknowns, bounded, floors, gained)
