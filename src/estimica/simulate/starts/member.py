"""The start of one member after the other: guess, root, and rates by the implicit function theorem.

Only what `initial.py` does first is done here; a member for which that does not lead to a root
without a doubt is left to it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from estimica.simulate.engine.linear_algebra import copy, fill, solve
from estimica.simulate.engine.units import (
    Unit,
    address,
    call_model,
    engine_function,
    part,
    reals_at,
)
from estimica.simulate.roots.newton import ROUNDED, SOLVED
from estimica.simulate.starts import layout as at
from estimica.simulate.starts.newton import choose_block, evaluate, factorise, newton
from estimica.simulate.starts.single_root import single_root

Vector = Any
#: as `ranges.ON_BOUND`
ON_BOUND = 1e-8
#: as `newton.continue_root` begins
FIRST_SHARE = 0.1
#: as `initial.MODE_ROUNDS`
MODE_ROUNDS = 30


@engine_function
def is_smooth_inside(iw: Vector) -> bool:
    """Whether the block has finite slopes at W_NOW, and keeps to min and max."""
    iw[at.U], iw[at.RESULT] = iw[at.W_NOW], iw[at.W_SLOPE]
    base = address(iw)
    call_model(iw[at.SLOPE], base, base + 8 * at.RESULT)
    row, column = part(iw, iw[at.I_SLOPE_ROW]), part(iw, iw[at.I_SLOPE_COLUMN])
    row_at, column_at = part(iw, iw[at.I_ROW_AT]), part(iw, iw[at.I_COLUMN_AT])
    slope = reals_at(iw[at.W_SLOPE])
    for q in range(iw[at.NNZ_SLOPE]):
        if row_at[row[q]] >= 0 and column_at[column[q]] >= 0 and not np.isfinite(slope[q]):
            return False
    now, columns = reals_at(iw[at.W_NOW]), part(iw, iw[at.B_COLUMNS])
    low, high = reals_at(iw[at.W_LOW]), reals_at(iw[at.W_HIGH])
    outside = 0
    for k in range(iw[at.B_N]):
        outside += 0 if low[columns[k]] <= now[columns[k]] <= high[columns[k]] else 1
    return outside == 0


@engine_function
def search_blocks(iw: Vector) -> bool:
    """From the guess again, block after block; whether each has a root at the first attempt."""
    copy(iw[at.N], reals_at(iw[at.W_NOW]), reals_at(iw[at.W_BEGUN]))
    starts, single = part(iw, iw[at.I_BLOCK]), part(iw, iw[at.I_SINGLE])
    for b in range(iw[at.N_BLOCKS]):
        rows, columns = iw[at.I_ROWS] + starts[b], iw[at.I_COLUMNS] + starts[b]
        choose_block(iw, starts[b + 1] - starts[b], rows, columns)
        found = single_root(iw, iw[rows], iw[columns]) if single[b] else newton(iw, True)
        if not found or not is_smooth_inside(iw):
            return False
    return True


@engine_function
def is_beyond(iw: Vector) -> bool:
    """Whether an unknown is outside of min and max by more than rounding."""
    now, size = reals_at(iw[at.W_NOW]), reals_at(iw[at.W_SIZES])
    low, high = reals_at(iw[at.W_LOW]), reals_at(iw[at.W_HIGH])
    for k in range(iw[at.N]):
        if np.isfinite(low[k]) and low[k] - ON_BOUND * max(size[k], abs(low[k])) > now[k]:
            return True
        if np.isfinite(high[k]) and high[k] + ON_BOUND * max(size[k], abs(high[k])) < now[k]:
            return True
    return False


@engine_function
def ease(iw: Vector) -> bool:
    """From the simplified equations that the model offers to the actual ones, as long as each step
    succeeds (`newton.continue_root`)."""
    share = reals_at(iw[at.HOMOTOPY])
    step = FIRST_SHARE
    share[0] = 0.0
    while newton(iw, share[0] >= 1.0):
        if share[0] >= 1.0:
            return True
        share[0] = min(1.0, share[0] + step)
        step *= 2.0
    share[0] = 1.0
    return False


@engine_function
def find_root(iw: Vector) -> int:
    """The root near W_BEGUN, to W_NOW: by Newton's method and, where an unknown has changed its
    sign, so that a pole may lie between, once more by a search."""
    n, begun, now = iw[at.N], reals_at(iw[at.W_BEGUN]), reals_at(iw[at.W_NOW])
    copy(n, now, begun)
    choose_block(iw, n, iw[at.I_ALL], iw[at.I_ALL])
    if not (ease(iw) if iw[at.EASED] else newton(iw, True)):
        return at.NOT_FOUND
    crossed = False
    for k in range(n):
        if begun[k] * now[k] < 0.0:
            crossed = True
    if crossed and iw[at.SEARCHED]:
        if iw[at.SLOPE] == 0:
            return at.NEEDS_SLOPE
        copy(n, reals_at(iw[at.W_SOLVED]), now)
        if not search_blocks(iw):
            return at.NOT_FOUND
    return at.NOT_FOUND if is_beyond(iw) else at.DONE


@engine_function
def are_as_good(iw: Vector) -> bool:
    """Whether the residuals at W_TRIAL are what W_ALLOWED allows; unknowns in equations that are
    not lose their mark."""
    n, near = iw[at.N], part(iw, iw[at.I_NEAR])
    row, column = part(iw, iw[at.I_ROW]), part(iw, iw[at.I_COLUMN])
    R, allowed, J = reals_at(iw[at.W_R_TRIAL]), reals_at(iw[at.W_ALLOWED]), reals_at(iw[at.W_J])
    evaluate(iw, iw[at.W_TRIAL], iw[at.W_R_TRIAL], iw[at.W_J_TRIAL])
    good = True
    for k in range(n):
        if not abs(R[k]) <= allowed[k]:
            good = False
    for q in range(iw[at.NNZ]):
        if not abs(R[row[q]]) <= allowed[row[q]] and J[q] != 0.0:
            near[column[q]] = 0
    return good


@engine_function
def to_guess(iw: Vector) -> None:
    """Unknowns that differ from their guess only by rounding are put there (`newton.at_guess`)."""
    n, near, count = iw[at.N], part(iw, iw[at.I_NEAR]), 0
    now, begun, trial = (
        reals_at(iw[at.W_NOW]),
        reals_at(iw[at.W_BEGUN]),
        reals_at(iw[at.W_TRIAL]),
    )
    for k in range(n):
        close = abs(now[k] - begun[k]) <= SOLVED * max(abs(begun[k]), 1.0)
        near[k] = 1 if close and now[k] != begun[k] else 0
        count += near[k]
    if count == 0:
        return
    evaluate(iw, iw[at.W_NOW], iw[at.W_R], iw[at.W_J])
    R, allowed, J = reals_at(iw[at.W_R]), reals_at(iw[at.W_ALLOWED]), reals_at(iw[at.W_J])
    row, column = part(iw, iw[at.I_ROW]), part(iw, iw[at.I_COLUMN])
    fill(n, allowed, 0.0)
    for q in range(iw[at.NNZ]):
        allowed[row[q]] += abs(J[q]) * abs(now[column[q]])
    for k in range(n):
        allowed[k] = max(abs(R[k]), ROUNDED * allowed[k])
    for _ in range(n + 1):
        count = 0
        for k in range(n):
            trial[k] = begun[k] if near[k] else now[k]
            count += near[k]
        if count == 0:
            return
        if are_as_good(iw):
            copy(n, now, trial)
            return


@engine_function
def differentiate(iw: Vector) -> bool:
    """dU/dθ = -J^-1 R_θ at W_NOW, to W_DU; whether J is regular without a doubt."""
    n, m = iw[at.N], iw[at.M]
    now, typical = reals_at(iw[at.W_NOW]), reals_at(iw[at.W_TYPICAL])
    choose_block(iw, n, iw[at.I_ALL], iw[at.I_ALL])
    evaluate(iw, iw[at.W_NOW], iw[at.W_R], iw[at.W_J])
    for k in range(n):
        typical[k] = 1.0 if now[k] == 0.0 else abs(now[k])
    if not factorise(iw, iw[at.W_J]):
        return False
    iw[at.RESULT] = iw[at.W_DU]
    base = address(iw)
    call_model(iw[at.THETA], base, base + 8 * at.RESULT)
    rates, rows = reals_at(iw[at.W_DU]), reals_at(iw[at.W_ROWS])
    for i in range(n):
        for j in range(m):
            rates[i * m + j] /= -rows[i]
    solve(reals_at(iw[at.W_MATRIX]), part(iw, iw[at.I_PIVOT]), n, rates, m)
    finite = True
    for i in range(n):
        for j in range(m):
            rates[i * m + j] *= typical[i]
            finite = finite and bool(np.isfinite(rates[i * m + j]))
    return finite


@engine_function
def prepare(iw: Vector, k: int, rates: int) -> None:
    """Run constants, states and sensitivities of member k from its constants."""
    iw[at.CONSTANTS], iw[at.RATES] = iw[at.VALUES], rates
    iw[at.RESULT] = iw[at.ALL_P] + 8 * k * iw[at.NP]
    iw[at.RESULT + 1] = iw[at.ALL_X] + 8 * k * iw[at.NX]
    iw[at.RESULT + 2] = iw[at.ALL_S] + 8 * k * iw[at.NX] * iw[at.M]
    base = address(iw)
    call_model(iw[at.PREPARE], base + 8 * at.CONSTANTS, base + 8 * at.RESULT)


@engine_function
def guess(iw: Vector, k: int) -> None:
    """W_BEGUN := start values of open states, free parameters and algebraic unknowns."""
    n_open, n_free, nz = iw[at.N_OPEN], iw[at.N_FREE], iw[at.NZ]
    begun, x = reals_at(iw[at.W_BEGUN]), reals_at(iw[at.ALL_X] + 8 * k * iw[at.NX])
    values, places = reals_at(iw[at.VALUES]), part(iw, iw[at.I_OPEN])
    for i in range(n_open):
        begun[i] = x[places[i]]
    for i in range(n_free):
        begun[n_open + i] = values[iw[iw[at.I_FREE] + i]]
    z = iw[at.W_BEGUN] + 8 * (n_open + n_free)
    iw[at.RESULT], iw[at.RESULT + 1] = z, iw[at.W_LOGICAL]
    base = address(iw)
    call_model(iw[at.GUESS], base + 8 * at.VALUES, base + 8 * at.RESULT)
    if iw[at.GUESSED]:
        copy(nz, reals_at(z), reals_at(iw[at.ALL_GUESS] + 8 * k * nz))


@engine_function
def set_unknowns(iw: Vector, k: int) -> bool:
    """Free parameters, open states and their rates of member k as the root has them."""
    n_open, n_free, m, nx = iw[at.N_OPEN], iw[at.N_FREE], iw[at.M], iw[at.NX]
    now, values = reals_at(iw[at.W_NOW]), reals_at(iw[at.VALUES])
    for i in range(n_free):
        values[iw[iw[at.I_FREE] + i]] = now[n_open + i]
    if m and not differentiate(iw):
        return False
    rates = reals_at(iw[at.W_DU])
    prepare(iw, k, iw[at.W_DU] + 8 * n_open * m)
    x, S = reals_at(iw[at.ALL_X] + 8 * k * nx), reals_at(iw[at.ALL_S] + 8 * k * nx * m)
    for i in range(n_open):
        place = iw[iw[at.I_OPEN] + i]
        x[place] = now[i]
        for j in range(m):
            S[place * m + j] = rates[i * m + j]
    return True


@engine_function
def same_modes(iw: Vector) -> bool:
    """Whether the modes that were found are those that hold."""
    d, new = reals_at(iw[at.MODES]), reals_at(iw[at.W_D_NEW])
    changed = 0
    for i in range(iw[at.ND]):
        changed += 1 if d[i] != new[i] else 0
    return changed == 0


@engine_function
def settle_modes(iw: Vector, k: int) -> bool:
    """Modes that agree with the values of member k at W_NOW, to W_D_NEW; whether some do. ALL_D has
    the logicals as they were before."""
    table = part(iw, at.T_TIME)
    d, new = reals_at(iw[at.MODES]), reals_at(iw[at.W_D_NEW])
    kept = reals_at(iw[at.W_D_KEPT])
    copy(iw[at.ND], kept, d)
    table[0], table[4], table[5] = iw[at.TIME], iw[at.INPUT], iw[at.MODES]
    table[1] = table[6] = iw[at.ALL_X] + 8 * k * iw[at.NX]
    table[2] = iw[at.W_NOW] + 8 * (iw[at.N_OPEN] + iw[at.N_FREE])
    table[3], table[7] = iw[at.ALL_P] + 8 * k * iw[at.NP], iw[at.ALL_D] + 8 * k * iw[at.ND]
    base = address(iw)
    settled = False
    for _ in range(MODE_ROUNDS):
        iw[at.RESULT] = iw[at.W_D_NEW]
        call_model(iw[at.SETTLE], base + 8 * at.T_TIME, base + 8 * at.RESULT)
        if same_modes(iw):
            settled = True
            break
        copy(iw[at.ND], d, new)
    copy(iw[at.ND], d, kept)
    return settled


@engine_function
def find_with_modes(iw: Vector, k: int) -> int:
    """The root of member k and the modes that agree with it, in rounds."""
    nd, relations = iw[at.ND], iw[at.N_RELATIONS]
    d, before = reals_at(iw[at.MODES]), reals_at(iw[at.ALL_D] + 8 * k * nd)
    fill(relations, before, 0.0)
    copy(nd - relations, part(before, relations), reals_at(iw[at.W_LOGICAL]))
    copy(nd, d, before)
    for _ in range(MODE_ROUNDS):
        ended = find_root(iw)
        if ended != at.DONE or not settle_modes(iw, k):
            return ended if ended != at.DONE else at.NOT_FOUND
        if same_modes(iw):
            # the initial event finds the start values of the logicals as their previous ones
            copy(relations, before, d)
            return at.DONE
        copy(nd, d, reals_at(iw[at.W_D_NEW]))
        copy(iw[at.N], reals_at(iw[at.W_BEGUN]), reals_at(iw[at.W_NOW]))
    return at.NOT_FOUND


@engine_function
def start(iw: Vector, k: int) -> int:
    """The start of member k; whether it was found."""
    iw[at.VALUES] = iw[at.ALL_VALUES] + 8 * k * iw[at.N_VALUES]
    fill(iw[at.N] * iw[at.M], reals_at(iw[at.W_DU]), 0.0)
    prepare(iw, k, iw[at.W_DU])
    guess(iw, k)
    ended = find_with_modes(iw, k) if iw[at.ND] else find_root(iw)
    if ended != at.DONE:
        return ended
    if iw[at.IMPLICIT]:
        to_guess(iw)
        if not set_unknowns(iw, k):
            return at.NOT_FOUND
    first = iw[at.N_OPEN] + iw[at.N_FREE]
    z = reals_at(iw[at.ALL_Z] + 8 * k * iw[at.NZ])
    copy(iw[at.NZ], z, reals_at(iw[at.W_NOW] + 8 * first))
    return at.DONE


def _starts(iw: Vector, rw: Vector, t: float, h: float, task: int, members: int) -> int:
    """The starts of all members, of which FOUND tells what has become; or one root, and what has
    become of it."""
    if task == at.ROOT:
        return find_root(iw)
    found, ended = reals_at(iw[at.FOUND]), at.DONE
    for k in range(members):
        one = start(iw, k)
        found[k] = 1.0 if one == at.DONE else 0.0
        if one == at.NEEDS_SLOPE:
            ended = one
    return ended


starts_unit = Unit(_starts)
