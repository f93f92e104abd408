"""Dense, banded and sparse LU factorisations with pivoting, for many right-hand sides stored row by
row, and products with sparse matrices. All matrices and vectors are pointers."""

from __future__ import annotations

from typing import Any

from estimica.simulate.engine import layout as at
from estimica.simulate.engine.units import engine_function, loop_function, part

Vector = Any
#: what decays, such as the influence of a start value, ends at zero: processors are slow with
#: numbers too small for a full mantissa
NEGLIGIBLE = 1e-120


@loop_function
def fill(n: int, target: Vector, value: float) -> None:
    """Sets n elements."""
    for j in range(n):
        target[j] = value


@loop_function
def copy(n: int, target: Vector, source: Vector) -> None:
    """target := source."""
    for j in range(n):
        target[j] = source[j]


@loop_function
def add(n: int, target: Vector, factor: float, source: Vector) -> None:
    """target += factor * source."""
    for j in range(n):
        target[j] += factor * source[j]


@loop_function
def add_and_clean(n: int, target: Vector, source: Vector) -> None:
    """target += source, negligible sums set to zero."""
    for j in range(n):
        value = target[j] + source[j]
        target[j] = 0.0 if abs(value) < NEGLIGIBLE else value


@loop_function
def exchange(n: int, a: Vector, b: Vector) -> None:
    """Swaps the contents of two vectors."""
    for j in range(n):
        a[j], b[j] = b[j], a[j]


@loop_function
def scale(n: int, a: Vector, factor: float) -> None:
    """a *= factor."""
    for j in range(n):
        a[j] *= factor


@loop_function
def factor(a: Vector, pivot: Vector, n: int) -> int:
    """LU of the (n, n) matrix in place; 0, or 1 + the column where it is singular."""
    for k in range(n):
        best, big = k, abs(a[k * n + k])
        for i in range(k + 1, n):
            if abs(a[i * n + k]) > big:
                best, big = i, abs(a[i * n + k])
        pivot[k] = best
        if not big > 0.0:
            return k + 1
        if best != k:
            exchange(n, part(a, k * n), part(a, best * n))
        inverse, rest = 1.0 / a[k * n + k], n - k - 1
        for i in range(k + 1, n):
            ratio = a[i * n + k] * inverse
            a[i * n + k] = ratio
            if ratio != 0.0:
                add(rest, part(a, i * n + k + 1), -ratio, part(a, k * n + k + 1))
    return 0


@loop_function
def solve(a: Vector, pivot: Vector, n: int, b: Vector, m: int) -> None:
    """b := a^-1 b for an (n, m) right-hand side and a factorised matrix."""
    for k in range(n):
        if pivot[k] != k:
            exchange(m, part(b, k * m), part(b, pivot[k] * m))
    for i in range(1, n):
        for k in range(i):
            if a[i * n + k] != 0.0:
                add(m, part(b, i * m), -a[i * n + k], part(b, k * m))
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            if a[i * n + k] != 0.0:
                add(m, part(b, i * m), -a[i * n + k], part(b, k * m))
        scale(m, part(b, i * m), 1.0 / a[i * n + i])


#: rows are scaled to one; what is left of them below this is rounding of a zero, and rows that
#: stand for the same equation have come out of different ways (chosen: 1e5 times the rounding)
DEPENDENT = 1e-11


@loop_function
def factor_fully(a: Vector, rows: Vector, columns: Vector, size: Vector, n: int) -> int:
    """LU with complete pivoting of the (n, n) matrix in place; its rank comes back.

    Row k of what is left stood at rows[k], column k at columns[k]; size[k] is the scale of the row
    that stands at k in the matrix given.
    """
    for i in range(n):
        big = 0.0
        for j in range(n):
            big = max(big, abs(a[i * n + j]))
        size[i] = 1.0 / big if big > 0.0 else 1.0
        scale(n, part(a, i * n), size[i])
        rows[i], columns[i] = i, i
    for k in range(n):
        big, row, column = 0.0, k, k
        for i in range(k, n):
            for j in range(k, n):
                if abs(a[i * n + j]) > big:
                    big, row, column = abs(a[i * n + j]), i, j
        if not big > DEPENDENT:
            return k
        if row != k:
            exchange(n, part(a, k * n), part(a, row * n))
            rows[k], rows[row] = rows[row], rows[k]
        if column != k:
            for i in range(n):
                a[i * n + k], a[i * n + column] = a[i * n + column], a[i * n + k]
            columns[k], columns[column] = columns[column], columns[k]
        inverse, rest = 1.0 / a[k * n + k], n - k - 1
        for i in range(k + 1, n):
            ratio = a[i * n + k] * inverse
            a[i * n + k] = ratio
            if ratio != 0.0:
                add(rest, part(a, i * n + k + 1), -ratio, part(a, k * n + k + 1))
    return n


@loop_function
def solve_fully(
    a: Vector, rows: Vector, columns: Vector, size: Vector, n: int, rank: int,
    b: Vector, m: int, work: Vector,
) -> float:  # fmt: skip
    """b := a solution of a b for a matrix that `factor_fully` has factorised; unknowns that nothing
    determines are zero. What the equations that are left over are off by comes back."""
    off = 0.0
    for c in range(m):
        for i in range(n):
            work[i] = b[rows[i] * m + c] * size[rows[i]]
        for i in range(1, n):
            for k in range(min(i, rank)):
                work[i] -= a[i * n + k] * work[k]
        for i in range(rank, n):
            off = max(off, abs(work[i]))
            work[i] = 0.0
        for i in range(rank - 1, -1, -1):
            for k in range(i + 1, rank):
                work[i] -= a[i * n + k] * work[k]
            work[i] /= a[i * n + i]
        for i in range(n):
            b[columns[i] * m + c] = work[i]
    return off


@loop_function
def factor_band(a: Vector, low: Vector, pivot: Vector, n: int, kl: int, ku: int) -> int:
    """LU of a band matrix, row i of which holds columns i - kl ... i + ku; multipliers to low."""
    w = kl + ku + 1
    shift = kl
    for i in range(min(kl, n)):
        for j in range(shift, w):
            a[i * w + j - shift] = a[i * w + j]
        for j in range(w - shift, w):
            a[i * w + j] = 0.0
        shift -= 1
    last = kl
    for k in range(n):
        best, big = k, abs(a[k * w])
        if last < n:
            last += 1
        for i in range(k + 1, last):
            if abs(a[i * w]) > big:
                best, big = i, abs(a[i * w])
        pivot[k] = best
        if not big > 0.0:
            return k + 1
        if best != k:
            exchange(w, part(a, k * w), part(a, best * w))
        inverse = 1.0 / a[k * w]
        for i in range(k + 1, last):
            ratio = a[i * w] * inverse
            low[k * kl + i - k - 1] = ratio
            for j in range(1, w):
                a[i * w + j - 1] = a[i * w + j] - ratio * a[k * w + j]
            a[i * w + w - 1] = 0.0
    return 0


@loop_function
def solve_band(
    a: Vector, low: Vector, pivot: Vector, n: int, kl: int, ku: int, b: Vector, m: int
) -> None:
    """b := a^-1 b for an (n, m) right-hand side and a factorised band matrix."""
    w = kl + ku + 1
    last = kl
    for k in range(n):
        if pivot[k] != k:
            exchange(m, part(b, k * m), part(b, pivot[k] * m))
        if last < n:
            last += 1
        for i in range(k + 1, last):
            add(m, part(b, i * m), -low[k * kl + i - k - 1], part(b, k * m))
    last = 1
    for i in range(n - 1, -1, -1):
        for k in range(1, last):
            add(m, part(b, i * m), -a[i * w + k], part(b, (i + k) * m))
        scale(m, part(b, i * m), 1.0 / a[i * w])
        if last < w:
            last += 1


@loop_function
def add_product(
    nnz: int, rows: Vector, columns: Vector, a: Vector, b: Vector, m: int, out: Vector
) -> None:
    """out += A b, A given by its nonzeros, b and out with rows of m."""
    for q in range(nnz):
        add(m, part(out, rows[q] * m), a[q], part(b, columns[q] * m))


@loop_function
def add_entries(nnz: int, rows: Vector, columns: Vector, a: Vector, m: int, out: Vector) -> None:
    """out += A, A given by its nonzeros, out with rows of m."""
    for q in range(nnz):
        out[rows[q] * m + columns[q]] += a[q]


# -- sparse matrices: s is the head that `layout.sparse_head` makes, r its reals -------------------

#: a pivot that the plan prefers is taken where it is no smaller than this part of the largest one;
#: one that was good before stays where it is no smaller than the second (each loses a digit)
PREFERRED, STILL_GOOD = 0.1, 0.01


@engine_function
def factor_sparse(s: Vector, r: Vector, values: Vector) -> int:
    """LU with the pivots of the last time or, where these are small now, with others; nonzero where
    the matrix is singular or its factors have no room."""
    if s[at.H_KNOWN] and factor_again(s, r, values) == 0:
        return 0
    s[at.H_KNOWN] = 1 - factor_anew(s, r, values)
    return 1 - s[at.H_KNOWN]


@engine_function
def reach(s: Vector, row: int, k: int, top: int) -> int:
    """Rows that an elimination in `row` changes in column k, in front of those found so far."""
    place, lower, entry = part(s, s[at.H_PLACE]), part(s, s[at.H_LP]), part(s, s[at.H_LI])
    stack, next_one = part(s, s[at.H_STACK]), part(s, s[at.H_NEXT])
    mark, found = part(s, s[at.H_MARK]), part(s, s[at.H_REACH])
    head = 0
    stack[0] = row
    while head >= 0:
        i = stack[head]
        j = place[i]
        if mark[i] != k:
            mark[i] = k
            next_one[head] = lower[j] if j >= 0 else 0
        end = lower[j + 1] if j >= 0 else 0
        deeper = False
        while next_one[head] < end:
            c = entry[next_one[head]]
            next_one[head] += 1
            if mark[c] != k:
                head += 1
                stack[head] = c
                deeper = True
                break
        if not deeper:
            head -= 1
            top -= 1
            found[top] = i
    return top


@engine_function
def factor_anew(s: Vector, r: Vector, values: Vector) -> int:
    """LU column by column (Gilbert and Peierls), pivots chosen on the way."""
    n, room = s[at.H_N], s[at.H_ROOM]
    start, rows, source = part(s, s[at.H_START]), part(s, s[at.H_ROWS]), part(s, s[at.H_SOURCE])
    place, pivot, prefer = part(s, s[at.H_PLACE]), part(s, s[at.H_PIVOT]), part(s, s[at.H_PREFER])
    lower, upper = part(s, s[at.H_LP]), part(s, s[at.H_UP])
    li, ui, found = part(s, s[at.H_LI]), part(s, s[at.H_UI]), part(s, s[at.H_REACH])
    mark = part(s, s[at.H_MARK])
    x, lx, ux = part(r, s[at.H_X]), part(r, s[at.H_LX]), part(r, s[at.H_UX])
    for i in range(n):
        place[i], mark[i] = -1, -1
    below, above = 0, 0
    for k in range(n):
        lower[k], upper[k] = below, above
        top = n
        for q in range(start[k], start[k + 1]):
            if mark[rows[q]] != k:
                top = reach(s, rows[q], k, top)
        if above + n - top > room or below + n - top > room:
            return 1
        for t in range(top, n):
            x[found[t]] = 0.0
        for q in range(start[k], start[k + 1]):
            x[rows[q]] += values[source[q]]
        best, big = -1, 0.0
        for t in range(top, n):
            i = found[t]
            j = place[i]
            if j >= 0:
                ui[above], ux[above] = j, x[i]
                above += 1
                for p in range(lower[j], lower[j + 1]):
                    x[li[p]] -= lx[p] * x[i]
        for t in range(top, n):
            i = found[t]
            if place[i] < 0 and abs(x[i]) > big:
                best, big = i, abs(x[i])
        if best < 0:
            return 1
        wanted = prefer[k]
        if mark[wanted] == k and place[wanted] < 0 and abs(x[wanted]) >= PREFERRED * big:
            best = wanted
        place[best], pivot[k] = k, best
        r[s[at.H_DIAGONAL] + k] = x[best]
        inverse = 1.0 / x[best]
        for t in range(top, n):
            if place[found[t]] < 0:
                li[below], lx[below] = found[t], x[found[t]] * inverse
                below += 1
    lower[n], upper[n] = below, above
    return 0


@engine_function
def factor_again(s: Vector, r: Vector, values: Vector) -> int:
    """LU with the pivots and the fill of the last time; nonzero where a pivot has become small."""
    start, rows, source = part(s, s[at.H_START]), part(s, s[at.H_ROWS]), part(s, s[at.H_SOURCE])
    lower, upper, pivot = part(s, s[at.H_LP]), part(s, s[at.H_UP]), part(s, s[at.H_PIVOT])
    li, ui = part(s, s[at.H_LI]), part(s, s[at.H_UI])
    x, lx, ux = part(r, s[at.H_X]), part(r, s[at.H_LX]), part(r, s[at.H_UX])
    for k in range(s[at.H_N]):
        for p in range(upper[k], upper[k + 1]):
            x[pivot[ui[p]]] = 0.0
        for p in range(lower[k], lower[k + 1]):
            x[li[p]] = 0.0
        x[pivot[k]] = 0.0
        for q in range(start[k], start[k + 1]):
            x[rows[q]] += values[source[q]]
        for p in range(upper[k], upper[k + 1]):
            value = x[pivot[ui[p]]]
            ux[p] = value
            for q in range(lower[ui[p]], lower[ui[p] + 1]):
                x[li[q]] -= lx[q] * value
        diagonal, big = x[pivot[k]], 0.0
        for p in range(lower[k], lower[k + 1]):
            big = max(big, abs(x[li[p]]))
        if not (abs(diagonal) > 0.0 and abs(diagonal) >= STILL_GOOD * big):
            return 1
        r[s[at.H_DIAGONAL] + k] = diagonal
        inverse = 1.0 / diagonal
        for p in range(lower[k], lower[k + 1]):
            lx[p] = x[li[p]] * inverse
    return 0


@engine_function
def solve_sparse(s: Vector, r: Vector, b: Vector, m: int) -> None:
    """b := a^-1 b for an (n, m) right-hand side and a factorised sparse matrix."""
    n = s[at.H_N]
    lower, upper, pivot = part(s, s[at.H_LP]), part(s, s[at.H_UP]), part(s, s[at.H_PIVOT])
    li, ui = part(s, s[at.H_LI]), part(s, s[at.H_UI])
    lx, ux, work = part(r, s[at.H_LX]), part(r, s[at.H_UX]), part(r, s[at.H_WORK])
    for k in range(n):
        for p in range(lower[k], lower[k + 1]):
            add(m, part(b, li[p] * m), -lx[p], part(b, pivot[k] * m))
    for k in range(n - 1, -1, -1):
        row = part(b, pivot[k] * m)
        scale(m, row, 1.0 / r[s[at.H_DIAGONAL] + k])
        for p in range(upper[k], upper[k + 1]):
            add(m, part(b, pivot[ui[p]] * m), -ux[p], row)
    column = part(s, s[at.H_COLUMN])
    for k in range(n):
        copy(m, part(work, column[k] * m), part(b, pivot[k] * m))
    copy(n * m, b, work)
