"""The sensitivities of every example against central differences of its own simulations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.examples.references import REFERENCES, Reference
from tests.examples.test_accuracy import load

import estimica as es
from estimica.compiled.kernel import build_kernel
from estimica.simulate.response import Configuration, Response

OPTIONS = es.Options(rtol=1e-10, atol=1e-12)
TOLERANCE = 1e-4


def response_of(reference: Reference, model: es.ModelicaModel) -> Response:
    # a few samples at odd times: none of them is crossed by an event when a parameter moves a little
    times = np.unique(
        reference.times[0] + np.ptp(reference.times) * np.array([0, 0.113, 0.317, 0.571, 0.877])
    )
    return model.response(
        times, reference.inputs, outputs=list(reference.outputs), wrt=list(reference.wrt),
        options=OPTIONS,
    )  # fmt: skip


def difference_error(response: Response) -> np.ndarray:
    """Deviation of each Jacobian column from central differences, relative to its largest entry."""
    theta = response.tuners
    exact = response.at().YS
    errors = np.empty(len(theta))
    for j, value in enumerate(theta):
        step = 1e-5 * max(abs(value), 1e-3)
        moved = [theta + step * s * np.eye(len(theta))[j] for s in (1, -1)]
        up, down = (response.at(m).Y for m in moved)
        slope = (up - down) / (2 * step)
        scale = max(np.abs(slope).max(), np.abs(exact[:, :, j]).max(), 1e-12)
        errors[j] = np.abs(exact[:, :, j] - slope).max() / scale
    return errors


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow if n == "heat rod" else ()) for n in REFERENCES],
)
def test_sensitivities_agree_with_central_differences(name):
    reference = REFERENCES[name]
    errors = difference_error(response_of(reference, load(reference)))
    assert errors.max() < TOLERANCE, dict(zip(reference.wrt, errors, strict=True))


def test_a_wrong_derivative_is_caught():
    reference = REFERENCES["drum boiler"]
    model = load(reference)
    response = response_of(reference, model)
    right = response.configuration
    hybrid = right.tuning.hybrid
    wrong_seed = hybrid.seed * 1
    wrong_seed[0, 0] *= 1.001  # dP/dθ of the first tuner, one per mille off
    planted = replace(hybrid, seed=wrong_seed)
    outputs = [model.equations.value(n) for n in right.outputs]
    import casadi as ca

    kernel = build_kernel(planted, ca.vertcat(*outputs))
    configuration = Configuration(right.tuning, right.initialiser, kernel, right.outputs)
    caught = Response(
        configuration, response.values, response.pieces, response.times, response.begin, OPTIONS
    )
    assert difference_error(caught)[0] > TOLERANCE
