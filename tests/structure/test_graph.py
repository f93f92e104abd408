"""Matching, decomposition, strong components, index offsets and tearing, on integers."""

from __future__ import annotations

from estimica.structure.graph.matching import decompose, match, strong_components
from estimica.structure.graph.tearing import stable_tearing, tear
from estimica.structure.index.pantelides import DifferentiationOrders, differentiation_orders
from estimica.structure.index.state_selection import StatePreferences, select_states


def test_matching_is_complete_where_it_can_be() -> None:
    matching = match([[0, 1], [0], [1, 2]], 3)
    assert matching.column_of == (1, 0, 2)
    assert matching.row_of == (1, 0, 2)


def test_matching_of_nothing() -> None:
    assert match([], 2).unmatched_columns == [0, 1]
    assert match([[], []], 0).unmatched_rows == [0, 1]


def test_decomposition_parts_over_and_under_determined() -> None:
    rows = [[0], [0], [1, 2], [3]]
    parts = decompose(rows, match(rows, 4))
    assert parts.over_rows == (0, 1)
    assert parts.over_columns == (0,)
    assert parts.under_columns == (1, 2)
    assert parts.under_rows == (2,)


def test_strong_components_come_in_evaluation_order() -> None:
    assert strong_components([[1], [2], [1], [0]]) == [[1, 2], [0], [3]]


def test_long_chain_needs_no_recursion() -> None:
    n = 20000
    components = strong_components([[k + 1] if k + 1 < n else [] for k in range(n)])
    assert components[0] == [n - 1]


def test_pendulum_offsets() -> None:
    # x, y, vx, vy, F; the constraint comes last
    orders = [{0: 1, 2: 0}, {1: 1, 3: 0}, {2: 1, 4: 0, 0: 0}, {3: 1, 4: 0, 1: 0}, {0: 0, 1: 0}]
    offsets = differentiation_orders(orders, 5)
    assert offsets.c == (1, 1, 0, 0, 2)
    assert offsets.d == (2, 2, 1, 1, 0)
    assert offsets.index == 3


def test_constant_factors_are_followed_through_elimination() -> None:
    # two constraints between three variables, the second twice the first plus one more
    offsets = DifferentiationOrders(c=(1, 1), d=(1, 1, 1))
    factors = [{0: 1.0, 1: -1.0}, {0: 2.0, 1: -2.0, 2: None}]
    wishes = StatePreferences({(v, 1): (v, 0) for v in range(3)})
    selection = select_states(offsets, factors, wishes)
    assert selection.used == (frozenset({1}), frozenset())
    assert selection.demoted == (frozenset({1}), frozenset(), frozenset())


def test_tearing_finds_one_unknown_for_a_chain() -> None:
    n = 50
    rows = [frozenset({k, (k + 1) % n}) for k in range(n)]
    plan = tear(rows, rows)
    assert len(plan.torn) == 1
    assert len(plan.inner) == n - 1
    assert len(plan.residuals) == 1


def test_tearing_solves_nothing_that_is_not_solvable() -> None:
    rows = [frozenset({0, 1}), frozenset({0, 1})]
    plan = tear(rows, [frozenset(), frozenset()])
    assert len(plan.torn) == 2
    assert plan.inner == ()


def test_a_large_unit_is_no_growth_of_rounding() -> None:
    """Pressures give forces on areas of 1e20, and these give pressures again."""
    area, n = 1e20, 9
    factors: list[dict[int, float]] = []
    for k in range(n):  # unknown 2k: pressure, 2k+1: force
        factors.append({2 * k: area, 2 * k + 1: -1.0})
        factors.append({2 * k + 1: 1.0 / area, (2 * k + 2) % (2 * n): -1.0})
    factors[-1][2] = 0.5
    rows = [frozenset(f) for f in factors]
    assert len(stable_tearing(rows, rows, [factors]).torn) == 1


def test_factors_that_multiply_are_growth_of_rounding() -> None:
    n = 30
    factors: list[dict[int, float]] = [
        {k: 10.0, (k + 1) % n: -1.0, (k + 2) % n: 0.1} for k in range(n)
    ]
    rows = [frozenset(f) for f in factors]
    assert len(stable_tearing(rows, rows, [factors]).torn) > len(tear(rows, rows).torn)
