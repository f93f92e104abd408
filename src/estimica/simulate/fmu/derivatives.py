"""How the derivatives of an FMU are found: its own, where they prove right, or differences.

Both are tried once at the first point. Model Exchange integrates sensitivities whose rates are
directional derivatives or central differences of the FMU's rates; Co-Simulation differentiates
whole trajectories.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from estimica.base.arrays import Vector
from estimica.simulate.fmu.experiment import FmuPoint, FmuRun
from estimica.simulate.fmu.loop import layout as at

STEPS = (6e-6, 1e-4, 1e-3)  # of differences of rates, in sizes of a tuner: eps^(1/3) and longer
#: of differences of trajectories: an FMU's own solver decides how noisy these are, so that the best
#: step may lie anywhere
LADDER = tuple(10.0**-k for k in range(1, 7))
#: of central and of one-sided ones, which smooth FMUs allow. Chosen: curvature costs the square of
#: the first, 1e-8, and as much as the second, 1e-6; noise over the step must be less
MIDDLE, SHORT = 1e-4, 1e-6
#: relative difference of the two up to which one-sided ones will do. Chosen: a search does not feel
#: it, and they halve the runs
ONE_SIDED = 1e-5
#: of directional derivatives with differences, relative. Chosen: wrong ones are far off, and
#: differences of FMUs with noise of their own hardly better
AGREED = 1e-4
CLEAR = 1e-6  # agreement that needs no differences with other steps; chosen: no chance explains it
#: relative tolerance at which they are compared. Chosen: a thousandth of CLEAR, so that errors of
#: the solver are not taken for those of derivatives
FINE = 1e-9
LEAST = 1e-10  # error that is told at least: eps^(2/3) of central differences is 4e-11


@dataclass(frozen=True)
class FmuDerivatives:
    """How each tuner's derivatives are found, with which step, in words, and their error."""

    ways: tuple[int, ...]
    steps: tuple[float, ...]  # in sizes of the tuner
    text: str
    error: float
    one_sided: bool = False  # of trajectories: half the runs


def distance(one: Vector, other: Vector) -> Vector:
    """The relative distance of two derivatives (N, ny, m), for each tuner the worst output's."""
    off = np.sqrt(np.nansum((one - other) ** 2, axis=0))
    size = np.sqrt(np.nansum(other**2, axis=0))
    whole = np.where(size.max(axis=0) > 0, size.max(axis=0), 1.0)
    # chosen: of outputs that a tuner hardly moves, beside others, only a thousandth counts
    found: Vector = (off / np.maximum(size, 1e-3 * whole)).max(axis=0, initial=0.0)
    return found


def with_fine_tolerance(point: FmuPoint) -> FmuPoint:
    """The same point with a tolerance at which differences can be told from integration errors."""
    return replace(point, rtol=FINE)


def choose_for_rates(
    compared: Sequence[FmuRun | None], directed: Sequence[FmuRun | None], declared: bool
) -> FmuDerivatives:
    """The choice for Model Exchange.

    `compared` are runs with differences of STEPS, `directed` for each tuner the run with its own
    directional derivatives; none where a run failed.
    """
    good = [(k, run) for k, run in enumerate(compared) if run is not None]
    m = good[0][1].YS.shape[-1]
    chosen, errors = [], []
    apart = [distance(one.YS, other.YS) for (_, one), (_, other) in pairwise(good)]
    for j in range(m):
        place, error = _best([float(a[j]) for a in apart])
        chosen.append(good[place])
        errors.append(max(LEAST, error))
    ways, off = [], []
    for j, run in enumerate(directed):
        if run is None:
            ways.append(at.BY_DIFFERENCES)
            off.append(np.inf)
            continue
        reference = chosen[j][1].YS[..., j : j + 1]
        off.append(float(distance(run.YS[..., j : j + 1], reference)[0]))
        ways.append(at.BY_DIRECTION if off[-1] <= AGREED else at.BY_DIFFERENCES)
    error = max(off[j] if w == at.BY_DIRECTION else errors[j] for j, w in enumerate(ways))
    return FmuDerivatives(
        tuple(ways), tuple(STEPS[k] for k, _ in chosen), _words(ways, off, declared, error), error
    )


def _best(apart: Sequence[float]) -> tuple[int, float]:
    """(place, error) of the step whose differences are best, from the distances of neighbours.

    Where they shrink with the step, curvature causes them, and it is the square of the step that
    the error of the shortest one goes with; where not, it is noise.
    """
    if not apart:
        return 0, LEAST
    # errors of curvature of the two longer steps differ a hundredfold; a tenth of that is chosen
    if len(apart) > 1 and apart[0] < 0.1 * apart[1]:
        return 0, apart[0] * (STEPS[0] / STEPS[1]) ** 2
    place = int(np.argmin(apart))
    return place, apart[place]


def _words(ways: Sequence[int], off: Sequence[float], declared: bool, error: float) -> str:
    own = sum(w == at.BY_DIRECTION for w in ways)
    about = f"off by about {error:.0e}"
    if not declared:
        return f"by differences of the rates, {about} (the FMU offers no directional derivatives)"
    if own == len(ways):
        return f"directional derivatives of the FMU, checked against differences to {error:.0e}"
    wrong = [x for x in off if AGREED < x < np.inf]
    why = (
        f"its directional derivatives are wrong, by {100 * max(wrong):.2g} %"
        if wrong
        else "it refuses directional derivatives"
    )
    if own:
        return (
            f"directional derivatives of the FMU for {own} of {len(ways)} tuners, for the others "
            f"differences of the rates, {about} ({why})"
        )
    return f"by differences of the rates, {about} ({why})"


def choose_one_sided(central: Vector, one_sided: Vector) -> FmuDerivatives | None:
    """One-sided differences of trajectories with a short step, where central ones confirm them."""
    if not (np.isfinite(central).all() and np.isfinite(one_sided).all()):
        return None
    m = central.shape[-1]
    error = max(LEAST, float(distance(one_sided, central).max(initial=0.0)))
    if error > ONE_SIDED:
        return None
    text = f"by one-sided differences of whole trajectories, off by about {error:.0e}"
    return FmuDerivatives((at.BY_DIFFERENCES,) * m, (SHORT,) * m, text, error, one_sided=True)


def choose_for_trajectories(ladder: Vector) -> FmuDerivatives:
    """The choice for whole trajectories; `ladder` holds (rungs, N, ny, m), NaN where one failed."""
    rungs, m = ladder.shape[0], ladder.shape[-1]
    apart = np.full((rungs - 1, m), np.inf)
    for k in range(rungs - 1):
        sound = np.isfinite(ladder[k]).all(axis=(0, 1)) & np.isfinite(ladder[k + 1]).all(
            axis=(0, 1)
        )
        apart[k] = np.where(sound, distance(ladder[k], ladder[k + 1]), np.inf)
    best = apart.argmin(axis=0)
    # of the two neighbours the shorter step has the smaller error of curvature
    chosen = [int(k) + 1 for k in best]
    error = float(max([apart[k, j] for j, k in enumerate(best)], default=LEAST))
    text = f"by differences of whole trajectories, off by about {max(error, LEAST):.0e}"
    return FmuDerivatives(
        (at.BY_DIFFERENCES,) * m, tuple(LADDER[k] for k in chosen), text, max(error, LEAST)
    )
