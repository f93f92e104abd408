"""RootSearch: equations that Newton's method does not solve from their guess, block after block.

Blocks of unknowns that depend on each other are solved one after another. One curved equation in
one unknown: all roots within reach are looked for, those inside min and max are preferred, then
the one nearest to the guess. Several unknowns: Newton's method from the guess, continuation from
it, and from other guesses over signs and decades, in an order that never changes. Where a block has
no solution, the next root of the blocks before it is tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice, product

import casadi as ca
import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.flat.system import Variable
from estimica.simulate.roots import newton
from estimica.simulate.roots.residual import residual_with_scale
from estimica.simulate.roots.scalar import Range, scalar_roots
from estimica.structure.graph.matching import match, strong_components
from estimica.structure.sorted_system import SortedSystem

#: unknowns up to which a search is tried even where Newton's method may do: it takes milliseconds
#: for each of them
SEARCHED = 30
#: relations that depend on relations: so deep they are followed, deeper ones keep their modes
NESTED = 4
_DECADES = (-4.0, 6.0)  # of guesses for several unknowns, around their scales
_DRAWN = 256  # guesses that are drawn
_CONTINUED = 2  # guesses that are also continued from: a way costs as much as forty other guesses
_TRIED = 20  # and of these the best, from which Newton's method begins
_ROOTS_BEFORE = 200  # roots of earlier blocks that are tried when a later one has none


@dataclass(frozen=True)
class Unknowns:
    """What is searched for: names, the equations' words, typical sizes, min and max, and whether
    the model gives a start value."""

    names: tuple[str, ...]
    labels: tuple[str, ...]
    scales: Vector
    low: Vector
    high: Vector
    given: tuple[bool, ...]


def unknowns_of(system: SortedSystem, names: Sequence[str], labels: Sequence[str]) -> Unknowns:
    """What the model says of some of its variables, with the words for their equations."""
    variables = [system.flat.by_name.get(n) for n in names]
    ranges = [v.range if v else (-np.inf, np.inf) for v in variables]
    return Unknowns(
        tuple(names),
        tuple(labels),
        np.array([_scale(v) for v in variables]),
        np.array([low for low, _ in ranges]),
        np.array([high for _, high in ranges]),
        tuple(n in system.starts or n in system.states for n in names),
    )


def _scale(v: Variable | None) -> float:
    """A typical size: the nominal value, else the size of the start value, else 1."""
    for e in (v.nominal, v.start) if v is not None else ():
        if e is not None and e.op == "const" and e.value and np.isfinite(e.value):
            return abs(e.value)
    return 1.0


@dataclass(frozen=True)
class RootResult:
    """A root; or None and what could not be solved, in words."""

    U: Vector | None
    text: str = ""


@dataclass(frozen=True)
class _Block:
    """Equations (rows), their unknowns (columns), and the limits that are decided with them."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    limits: tuple[int, ...]
    curved: bool


@dataclass(frozen=True, eq=False)
class RootSearch:
    """R(U; given) = 0. `full` gives R and its Jacobian, `true` E and sizes, `slope` the Jacobian of
    E, `slack` the limits."""

    unknowns: Unknowns
    full: ca.Function
    true: ca.Function
    slope: ca.Function
    slack: ca.Function
    curved: tuple[bool, ...]  # rows that are not linear in U

    @staticmethod
    def of(
        unknowns: Unknowns, R: ca.SX, U: ca.SX, given: Sequence[ca.SX], slack: ca.SX | None = None
    ) -> RootSearch:
        """The search for equations of symbols U and others that are given."""
        R = ca.densify(R)
        arguments = [U, *given]
        E, size = residual_with_scale(R, arguments)
        forward = {"allow_reverse": False}
        J = ca.jacobian(R, U, forward)
        limits = ca.SX(0, 1) if slack is None else ca.densify(slack)
        return RootSearch(
            unknowns,
            ca.Function("full", arguments, [R, J], {"cse": True}),
            ca.Function("true", arguments, [E, size], {"cse": True}),
            ca.Function("slope", arguments, [ca.jacobian(E, U, forward)], {"cse": True}),
            ca.Function("slack", arguments, [limits], {"cse": True}),
            tuple(map(bool, ca.which_depends(R, U, 2, True))) if R.shape[0] else (),
        )

    def find(self, guess: Vector, *given: Vector | float, begun: Flags | None = None) -> RootResult:
        """The root that the guess leads to; `begun` are unknowns whose guess says something, those
        with a start value where nothing else is said."""
        known = np.array(self.unknowns.given, bool) if begun is None else begun
        with np.errstate(all="ignore"):  # guesses over many decades: what overflows is left
            return _BlockSearch(self, given, known).run(guess)

    @cached_property
    def blocks(self) -> tuple[_Block, ...]:
        """The blocks in the order in which they can be solved."""
        n = len(self.unknowns.names)
        pattern = self.full.sparsity_out(1)
        rows: list[list[int]] = [[] for _ in range(n)]
        for i, j in zip(*pattern.get_triplet(), strict=True):
            rows[i].append(j)
        matching = match(rows, n)
        if matching.unmatched_rows:
            parts = [(list(range(n)), list(range(n)))]
        else:
            row_of = matching.row_of
            successors = [sorted({row_of[j] for j in row} - {i}) for i, row in enumerate(rows)]
            parts = [
                (rows_, [matching.column_of[i] for i in rows_])
                for rows_ in strong_components(successors)
            ]
        limits = self._limits([columns for _, columns in parts])
        return tuple(
            _Block(tuple(r), tuple(c), tuple(limits[k]), any(self.curved[i] for i in r))
            for k, (r, c) in enumerate(parts)
        )

    def _limits(self, columns: Sequence[Sequence[int]]) -> list[list[int]]:
        """Limits by the last block that they depend on."""
        block_of = {j: k for k, some in enumerate(columns) for j in some}
        last: dict[int, int] = {}
        if self.slack.size1_out(0):
            triplet = self.slack.jac_sparsity(0, 0).get_triplet()
            for i, j in zip(*triplet, strict=True):
                last[i] = max(last.get(i, 0), block_of[j])
        return [[i for i, b in sorted(last.items()) if b == k] for k in range(len(columns))]


class _BlockSearch:
    """One search: through the blocks, and back where one of them has no root."""

    def __init__(self, search: RootSearch, given: Sequence[Vector | float], begun: Flags) -> None:
        self.search = search
        self.given = given
        self.begun = begun
        self.failed = -1
        self.last = np.zeros(0)

    def run(self, guess: Vector) -> RootResult:
        blocks = self.search.blocks
        if not blocks:
            return RootResult(guess)
        stack = [self._roots(blocks[0], guess)]
        for _ in range(len(blocks) + _ROOTS_BEFORE):
            while stack and (U := next(stack[-1], None)) is None:
                if len(stack) - 1 > self.failed:
                    self.failed = len(stack) - 1
                stack.pop()
            if not stack:
                break
            assert U is not None
            if len(stack) == len(blocks):
                return RootResult(U)
            if len(stack) > self.failed:
                self.last = U
            stack.append(self._roots(blocks[len(stack)], U))
        return RootResult(None, self._why(blocks[max(self.failed, 0)]))

    def _why(self, block: _Block) -> str:
        u = self.search.unknowns
        told = " and ".join(u.labels[i] for i in block.rows[:2])
        told += " …" if len(block.rows) > 2 else ""
        names = ", ".join(f"'{u.names[j]}'" for j in block.columns[:3])
        names += " …" if len(block.columns) > 3 else ""
        return f"{told} could not be solved for {names}"

    # -- one block -------------------------------------------------------------------------------

    def _roots(self, block: _Block, U: Vector) -> Iterator[Vector]:
        """Solutions of one block, those first that keep to min and max and can be differentiated
        (x = c*x^0.1 holds at x = 0 too, where the power has no slope)."""
        others = []
        one = len(block.columns) == 1 and block.curved
        for root in self._of_one(block, U) if one else self._of_several(block, U):
            if self._smooth(block, root) and self._inside(block, root):
                yield root
            else:
                others.append(root)
        yield from others

    def _smooth(self, block: _Block, U: Vector) -> bool:
        J = np.array(self.search.slope(U, *self.given))
        return bool(np.isfinite(J[np.ix_(block.rows, block.columns)]).all())

    def _inside(self, block: _Block, U: Vector) -> bool:
        u, columns = self.search.unknowns, list(block.columns)
        if ((U[columns] < u.low[columns]) | (U[columns] > u.high[columns])).any():
            return False
        if not block.limits:
            return True
        slack = np.array(self.search.slack(U, *self.given)).ravel()
        return bool((slack[list(block.limits)] >= 0).all())

    def _of_one(self, block: _Block, U: Vector) -> Iterator[Vector]:
        (row,), (column,) = block.rows, block.columns
        u = self.search.unknowns

        def curve(x: Vector) -> tuple[Vector, Vector]:
            points = np.repeat(U[:, None], len(x), axis=1)
            points[column] = x
            E, size = self.search.true(points, *self.given)
            return np.array(E)[row], np.array(size)[row]

        where = Range(
            float(U[column]),
            float(u.scales[column]),
            float(u.low[column]),
            float(u.high[column]),
            bool(self.begun[column]),
        )
        for root in scalar_roots(curve, where):
            yield _with(U, block.columns, np.array([root]))

    def _of_several(self, block: _Block, U: Vector) -> Iterator[Vector]:
        """Roots by Newton's method, each once; a linear block has one, or none."""
        rows, columns = list(block.rows), list(block.columns)

        def evaluate(part: Vector) -> tuple[Vector, Vector]:
            R, J = self.search.full(_with(U, columns, part), *self.given)
            return np.array(R).ravel()[rows], np.array(J)[np.ix_(rows, columns)]

        def holds(part: Vector) -> bool:
            E, size = self.search.true(_with(U, columns, part), *self.given)
            return newton.is_near_zero(np.array(E).ravel()[rows], np.array(size).ravel()[rows])

        known: list[Vector] = []
        guesses = self._guesses(block, U) if block.curved else iter([U[columns]])
        first = list(islice(guesses, _CONTINUED))
        ways = (newton.solve, newton.solve_by_continuation)
        tries = chain(product(ways, first), product(ways[:1], guesses))
        for solve, guess in tries:
            root = solve(evaluate, guess, holds)
            if root is not None and not any(np.allclose(root, k, rtol=1e-6) for k in known):
                known.append(root)
                yield _with(U, columns, root)

    def _guesses(self, block: _Block, U: Vector) -> Iterator[Vector]:
        """The guess itself, with other values for its zeros, then the best of many draws."""
        u, columns = self.search.unknowns, list(block.columns)
        scales, low, high = u.scales[columns], u.low[columns], u.high[columns]
        yield U[columns]
        ones = np.clip(np.where(U[columns] == 0.0, scales, U[columns]), low, high)
        yield ones
        drawn = _spread(_DRAWN, 2 * len(columns))
        first, last = _DECADES
        sizes = scales * 10 ** (first + (last - first) * drawn[:, : len(columns)])
        positive = drawn[:, len(columns) :] < 0.75  # as most physical quantities are
        signed = np.where(positive, sizes, -sizes)
        around = np.where((np.arange(_DRAWN) % 2 == 0)[:, None], signed, U[columns] + signed)
        same = np.outer(10.0 ** np.array([-1, 1, -2, 2, -3, 3, 4, 5, 6]), scales)
        points = np.clip(np.concatenate([same, around]), low, high)
        yield from points[self._order(block, U, points)]

    def _order(self, block: _Block, U: Vector, points: Vector) -> Vector:
        """The points that lie in the domain, those first whose equations are nearest to holding."""
        rows = list(block.rows)
        whole = np.repeat(U[:, None], len(points), axis=1)
        whole[list(block.columns)] = points.T
        E, size = (np.array(a)[rows] for a in self.search.true(whole, *self.given))
        with np.errstate(all="ignore"):
            off = np.where(size > 0, np.abs(E) / size, np.where(size < 0, np.inf, 0.0)).max(axis=0)
        order = np.argsort(np.where(np.isfinite(off), off, np.inf), kind="stable")
        return np.asarray([k for k in order if np.isfinite(off[k])][:_TRIED], np.int64)


def _spread(count: int, dimensions: int) -> Vector:
    """Numbers in (0, 1) that fill their space evenly: multiples of powers of the root of
    x^(n+1) = x + 1, less their integer parts (a Kronecker sequence)."""
    root = 2.0
    for _ in range(60):
        root = (1 + root) ** (1 / (dimensions + 1))
    steps = (1 / root) ** np.arange(1, dimensions + 1)
    found: Vector = (0.5 + np.outer(np.arange(1, count + 1), steps)) % 1.0
    return found


def _with(U: Vector, columns: Sequence[int], part: Vector) -> Vector:
    found = U.copy()
    found[list(columns)] = part
    return found
