"""Large systems solved part by part."""

from __future__ import annotations

import numpy as np

from estimica.simulate.roots.newton import solve
from estimica.simulate.roots.ordered import parts_of, solve_in_order

CRANK, ROD, ANGLE = 0.1, 0.3, 2.0


def _pistons(U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Force of the gas, angle of the rod and place of the piston, in that order of unknowns:
    crank·sin(a) = rod·sin(b), s = crank·cos(a) + rod·cos(b), f = 1e5·(0.05/(0.41 - s))^20."""
    f, b, s = U
    gas = 1e5 * (0.05 / (0.41 - s)) ** 20
    R = np.array(
        [
            f - gas,
            CRANK * np.cos(ANGLE) + ROD * np.cos(b) - s,
            CRANK * np.sin(ANGLE) - ROD * np.sin(b),
        ]
    )
    J = np.array(
        [
            [1.0, 0.0, -20 * gas / (0.41 - s)],
            [0.0, -ROD * np.sin(b), -1.0],
            [0.0, -ROD * np.cos(b), 0.0],
        ]
    )
    return R, J


def test_parts_are_solved_in_their_order() -> None:
    """The angle first, then the place, then the force: closed forms one after the other."""
    parts = parts_of([[0, 2], [1, 2], [1]], 3)
    assert [list(columns) for _, columns in parts] == [[1], [2], [0]]
    b = np.arcsin(CRANK * np.sin(ANGLE) / ROD)
    s = CRANK * np.cos(ANGLE) + ROD * np.cos(b)
    found = solve_in_order(_pistons, np.array([0.0, 0.0, 0.0]), parts)
    np.testing.assert_allclose(found, [1e5 * (0.05 / (0.41 - s)) ** 20, b, s], rtol=1e-12)


def test_a_part_without_root_leaves_what_was_found_before() -> None:
    """x = 2 is found; y^2 = -1 has no root, and y stays where it was, and what follows it."""

    def evaluate(U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x, y, z = U
        R = np.array([x - 2, y**2 + 1, z - x * y])
        return R, np.array([[1.0, 0.0, 0.0], [0.0, 2 * y, 0.0], [-y, -x, 1.0]])

    start = np.array([0.0, 3.0, 7.0])
    assert solve(evaluate, start) is None
    found = solve_in_order(evaluate, start, parts_of([[0], [1], [0, 1, 2]], 3))
    np.testing.assert_allclose(found, [2.0, 3.0, 7.0])


def test_equations_that_do_not_match_have_no_parts() -> None:
    """Two equations for one unknown and none for the other."""
    assert parts_of([[0], [0]], 2) == []
    assert parts_of([[0], [1], [0, 1]], 2) == []
