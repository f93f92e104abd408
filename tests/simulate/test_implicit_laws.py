"""Implicit laws at operating points, each from default start values, against independent roots."""

from __future__ import annotations

import numpy as np
import pytest
from tests.implicit_laws import LAWS, Law, package

import estimica as es

SOURCE = package(LAWS)


def test_there_are_sixty_laws() -> None:
    assert len({law.name for law in LAWS}) == len(LAWS) == 60


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_a_law_is_solved_from_default_starts(law: Law) -> None:
    model = es.load_model(SOURCE, f"Laws.{law.name}").at_points()
    table = model.evaluate({"u": list(law.u)}, outputs=[law.asked])
    np.testing.assert_allclose(table[law.asked], [law.truth(u) for u in law.u], 1e-9, 1e-60)
