"""The equations of motion derived by hand are those of the library's joints and bodies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import estimica as es


@pytest.mark.msl
def test_equations_of_motion_agree_with_multibody_parts(examples: Path) -> None:
    times = np.linspace(0.0, 2.0, 101)
    torque = (np.array([0.0, 0.5, 1.0]), np.array([0.05, -0.05, 0.0]))
    found = [
        es.load_model(examples / file).simulate(
            times, {"tau": torque}, outputs=["phi", "theta"], options=es.Options(rtol=1e-9)
        )
        for file in ("FurutaPendulum.mo", "msl/FurutaMultiBody.mo")
    ]
    np.testing.assert_allclose(found[1].values, found[0].values, rtol=1e-6, atol=1e-7)
