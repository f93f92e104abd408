"""Power of the lines of a multisine: how to share it so that the tuners are best told.

The information is M(p) = Σ p_k M_k, with p_k the power of line k and Σ p_k = 1. D and A are found
by the multiplicative algorithm, which only ever improves (S. D. Silvey, D. M. Titterington and
B. Torsney, Communications in Statistics A 7, 1978), and by adding the lines that are worth most;
E, S_min and R by linear programs with cutting planes. Each comes with a bound on what any other
powers could reach: for D and A by the equivalence theorem of J. Kiefer and J. Wolfowitz (Canadian
Journal of Mathematics 12, 1960), for the others by the linear program, which asks for less than
the true problem.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Flags, Vector

CLOSE = 1e-6  # of the bound to the value, where the search ends: the bound says what is lost
#: Most rounds of the multiplicative algorithm, over all lines and at the end, most times that lines
#: are added, and most cutting planes. Chosen: the bound ends them long before; where it does not,
#: the efficiency that is told says so.
FIRST_ROUNDS, ROUNDS = 200, 1000
ADDED = 60
PLANES = 400
NOTHING = 1e-7  # share of the power below which a line is left out: a tenth of CLOSE


@dataclass(frozen=True, eq=False)
class PowerShares:
    """Shares of the power, and how near they are to the best there is.

    `gain` is what power in each line adds to the criterion, relative to its share: at the best
    it is 1 for every line that is used and at most 1 for the others.
    """

    power: Vector  # (lines,), sums to 1
    gain: Vector  # (lines,)
    efficiency: float  # a lower bound: criterion / best possible, from 0 to 1


def share_power(M: Vector, criterion: str, counted: int, norm: Vector | None = None) -> PowerShares:
    """The shares for the first `counted` unknowns; `M` is (lines, unknowns, unknowns).

    S_min is relative to the root mean square of the output: `norm` is what each line adds to its
    square.
    """
    if criterion == "D":
        return _concave(M, counted, power=1.0)
    if criterion == "A":
        return _concave(M, counted, power=0.5)
    if criterion == "R":
        return _rounded(M)
    return _weakest(M, counted, norm if criterion == "S_min" else None)


def is_informative(M: Vector) -> bool:
    """Whether all unknowns are seen by some powers."""
    total = M.sum(axis=0)
    size = np.sqrt(np.diag(total))
    if not (np.isfinite(total).all() and (size > 0).all()):
        return False
    # eigenvalues are squares: below 1e-13 they are rounding
    return bool(np.linalg.eigvalsh(total / np.outer(size, size))[0] > 1e-13)


# --- D and A: concave in the powers -------------------------------------------------------


def _concave(M: Vector, counted: int, power: float) -> PowerShares:
    """The greatest det(M)^(1/n), or the least tr(M⁻¹): lines are added while one is worth more
    than its share, and between that the powers of those in use are found."""
    p = _improved(M, np.full(len(M), 1 / len(M)), counted, power, FIRST_ROUNDS)
    # chosen: a good set of lines to begin with; the gains correct it
    used = _peaks(p, 0.0) | (p > 0.1 * p.max())
    for _ in range(ADDED):
        start = np.where(used, np.maximum(p, 1e-3), 0.0)
        if not is_informative(M[used]):
            start, used = p, p > 0
        p = _restricted(M, start / start.sum(), counted, power)
        gain = _gains(M, p, counted, power)
        if gain.max() <= 1 + CLOSE:
            break
        used = (p > NOTHING) | _peaks(gain, 1 + CLOSE)
    p = _improved(M, np.where(p > NOTHING, p, 0.0) / p[p > NOTHING].sum(), counted, power, ROUNDS)
    p = _fewest(M, p)
    gain = _gains(M, p, counted, power)
    # D: det(M)^(1/n) and A: 1/tr(M⁻¹) are concave, so that neither exceeds its tangent
    return PowerShares(p, gain, min(1.0, 1.0 / float(gain.max())))


def _peaks(values: Vector, above: float) -> Flags:
    """Where a value is above and not below its neighbours'."""
    padded = np.concatenate([[-np.inf], values, [-np.inf]])
    return (values > above) & (values >= padded[:-2]) & (values >= padded[2:])


def _restricted(M: Vector, start: Vector, counted: int, power: float) -> Vector:
    """The best powers of the lines that have some at the start."""
    from scipy.optimize import minimize

    used = np.flatnonzero(start > 0)
    own = M[used]

    def value(q: Vector) -> tuple[float, Vector]:
        q = np.maximum(q, 0.0)
        C = np.tensordot(q, own, axes=1)
        if not is_informative(C[None]):
            return 1e6, np.zeros(len(q))  # above the logarithm of any variance
        block = np.linalg.inv(C)[:counted, :counted]
        logarithm = (
            np.linalg.slogdet(block)[1] / counted if power == 1.0 else np.log(np.trace(block))
        )
        return float(logarithm), -_gains(own, q, counted, power)

    whole = {"type": "eq", "fun": lambda q: q.sum() - 1, "jac": np.ones_like}
    solution = minimize(
        value,
        start[used],
        jac=True,
        method="SLSQP",
        bounds=[(0, 1)] * len(used),
        constraints=[whole],
        # chosen: to rounding, so that CLOSE is not missed by the search within
        options={"ftol": 1e-14, "maxiter": 200},
    )
    q = np.maximum(solution.x, 0.0)
    better = value(q / q.sum())[0] < value(start[used])[0]
    p = np.zeros(len(M))
    p[used] = q / q.sum() if better else start[used]
    return p


def _improved(M: Vector, p: Vector, counted: int, power: float, rounds: int) -> Vector:
    """p_k ← p_k·gain_k^power, which only ever improves; a line without power stays without."""
    for _ in range(rounds):
        gain = _gains(M, p, counted, power)
        if gain[p > 0].max() <= 1 + CLOSE:
            break
        p = p * gain**power
        p /= p.sum()
    return p


def _gains(M: Vector, p: Vector, counted: int, power: float) -> Vector:
    C = np.linalg.inv(np.tensordot(p, M, axes=1))
    if power == 1.0:  # D: of the counted unknowns, the others being unknown too
        gains = np.einsum("kij,ji->k", M, C)
        if counted < len(C):
            rest = M[:, counted:, counted:]
            inner = np.linalg.inv(np.tensordot(p, rest, axes=1))
            gains = gains - np.einsum("kij,ji->k", rest, inner)
        return np.asarray(gains / counted, np.float64)
    chosen = C[:, :counted]
    gains = np.einsum("kij,ja,ia->k", M, chosen, chosen)
    return np.asarray(gains / np.trace(C[:counted, :counted]), np.float64)


def _fewest(M: Vector, p: Vector) -> Vector:
    """Shares of few lines with the same information: at most n(n + 1)/2 of them are needed.

    C. Carathéodory; a corner of {q ≥ 0: M(q) = M(p)}, the one of the lowest lines.
    """
    from scipy.optimize import linprog

    n = M.shape[1]
    if np.count_nonzero(p) <= n:
        return p
    upper = np.triu_indices(n)
    size = np.sqrt(np.diag(np.tensordot(p, M, axes=1)))
    scaled = (M / np.outer(size, size))[:, upper[0], upper[1]].T
    A = np.vstack([scaled, np.ones(len(p))])
    solution = linprog(np.arange(len(p), dtype=float), A_eq=A, b_eq=A @ p, method="highs-ds")
    if solution.x is None:
        return p
    q = np.where(solution.x > NOTHING, solution.x, 0.0)
    lost = np.abs(A @ (q / q.sum()) - A @ p).max()
    return q / q.sum() if lost < CLOSE else p


# --- E, S_min and R: linear programs -------------------------------------------------------------


def _weakest(M: Vector, counted: int, norm: Vector | None) -> PowerShares:
    """Greatest least eigenvalue: t ≤ uᵀM(p)u for every u of which the counted part has length 1.

    `norm` holds the powers to Σ p_k·norm_k = 1 instead of Σ p_k = 1.
    """
    from scipy.optimize import linprog

    lines = len(M)
    scale = np.ones(lines) if norm is None else norm
    scaled = M / scale[:, None, None]
    share = np.full(lines, 1 / lines)
    best, bound = share, math.inf
    planes: list[Vector] = []
    for _ in range(PLANES):
        value, u = _least(np.tensordot(share, scaled, axes=1), counted)
        if value > _least(np.tensordot(best, scaled, axes=1), counted)[0]:
            best = share
        reached = _least(np.tensordot(best, scaled, axes=1), counted)[0]
        if reached >= bound * (1 - CLOSE):
            break
        planes.append(np.einsum("i,kij,j->k", u, scaled, u))
        size = max(float(np.abs(planes[0]).max()), 1e-300)
        A = np.hstack([-np.array(planes) / size, np.ones((len(planes), 1))])
        cost = np.append(np.zeros(lines), -1.0)
        solution = linprog(
            cost,
            A_ub=A,
            b_ub=np.zeros(len(planes)),
            A_eq=np.append(np.ones(lines), 0.0)[None],
            b_eq=[1.0],
            bounds=[(0, None)] * lines + [(None, None)],
        )
        if solution.x is None:
            break
        share = np.maximum(solution.x[:-1], 0.0)
        share /= share.sum()
        bound = float(solution.x[-1]) * size
    best = np.where(best > NOTHING, best, 0.0) / best[best > NOTHING].sum()
    reached, u = _least(np.tensordot(best, scaled, axes=1), counted)
    gain = np.einsum("i,kij,j->k", u, scaled, u) / max(reached, 1e-300)
    power = best / scale
    efficiency = reached / bound if math.isfinite(bound) and bound > 0 else 0.0
    return PowerShares(power / power.sum(), gain, min(efficiency, 1.0))


def _least(M: Vector, counted: int) -> tuple[float, Vector]:
    """Least eigenvalue of the Schur complement, and u with uᵀMu equal to it."""
    n = len(M)
    if counted == n:
        values, vectors = np.linalg.eigh(M)
        return float(values[0]), vectors[:, 0]
    inner = np.linalg.pinv(M[counted:, counted:])
    follow = -inner @ M[counted:, :counted]
    values, vectors = np.linalg.eigh(M[:counted, :counted] + M[:counted, counted:] @ follow)
    v = vectors[:, 0]
    return float(values[0]), np.concatenate([v, follow @ v])


def _rounded(M: Vector) -> PowerShares:
    """Least λ_max/λ_min: κ of I ≤ Σ q_k M_k ≤ κI, each of the two cut by planes."""
    from scipy.optimize import linprog

    lines = len(M)
    size = np.trace(M.mean(axis=0))
    scaled = M / size
    q = np.full(lines, 1.0 / lines)
    best, bound = q, 0.0
    low: list[Vector] = []
    high: list[Vector] = []
    for _ in range(PLANES):
        values, vectors = np.linalg.eigh(np.tensordot(q, scaled, axes=1))
        if _ratio(scaled, q) < _ratio(scaled, best):
            best = q
        if _ratio(scaled, best) <= bound * (1 + CLOSE):
            break
        for v in vectors.T:
            low.append(np.einsum("i,kij,j->k", v, scaled, v))
            high.append(low[-1])
        A = np.vstack(
            [
                np.hstack([-np.array(low), np.zeros((len(low), 1))]),
                np.hstack([np.array(high), -np.ones((len(high), 1))]),
            ]
        )
        b = np.concatenate([-np.ones(len(low)), np.zeros(len(high))])
        cost = np.append(np.zeros(lines), 1.0)
        solution = linprog(cost, A_ub=A, b_ub=b, bounds=[(0, None)] * (lines + 1))
        if solution.x is None:
            break
        q, bound = np.maximum(solution.x[:-1], 0.0), float(solution.x[-1])
        q = q if q.sum() > 0 else best
    best = np.where(best > NOTHING * best.sum(), best, 0.0)
    values, vectors = np.linalg.eigh(np.tensordot(best, scaled, axes=1))
    weak, strong = vectors[:, 0], vectors[:, -1]
    low_gain = np.einsum("i,kij,j->k", weak, scaled, weak) / values[0]
    high_gain = np.einsum("i,kij,j->k", strong, scaled, strong) / values[-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.where(high_gain > 0, low_gain / high_gain, 0.0)
    # R is the root of the ratio
    efficiency = math.sqrt(min(max(bound, 0.0) / _ratio(scaled, best), 1.0))
    return PowerShares(best / best.sum(), gain, efficiency)


def _ratio(M: Vector, q: Vector) -> float:
    values = np.linalg.eigvalsh(np.tensordot(q, M, axes=1))
    return float(values[-1] / values[0]) if values[0] > 0 else math.inf
