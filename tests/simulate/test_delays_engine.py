"""Delayed signals in the engine."""

from __future__ import annotations

import numpy as np
import pytest
from tests import engine_models as models
from tests.engine_models import Problem, errors

from estimica.simulate import engine, status
from estimica.simulate.engine import Options, Pieces


@pytest.mark.parametrize("problem", [models.delayed_decay(), models.delayed_input()])
def test_delays_agree_with_the_closed_form(problem: Problem) -> None:
    run = problem.run()
    assert run.ok, run.text
    state, sens = errors(run, *problem.reference())
    assert state < 1e-8
    assert sens < 1e-6
