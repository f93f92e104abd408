"""Starts by compiled code are those that the search in Python finds, and exact where they can be
written down."""

from __future__ import annotations

import numpy as np
import pytest

from estimica import SimulationError, load_model
from estimica.simulate import initial, ranges
from estimica.simulate.ensemble.backends import Ensemble
from estimica.simulate.ensemble.members import NO_START
from estimica.simulate.initial import Initialiser, InitialPoint
from estimica.simulate.response import Response
from estimica.simulate.roots import newton, scalar
from estimica.simulate.starts import layout, member

BODIES = {
    "one of three roots": "Real y(start = a - b); Real x(start = 0.3, fixed = true); "
    "equation y^3 - 3*y + 0.5*a = x; der(x) = y - x;",
    "signs change": "Real y(start = -0.5); Real w(start = -1); Real x(start = 0.3, fixed = true); "
    "equation y^5 + y + a*y = 3*b + x; w^3 + w = y*b; der(x) = w - x;",
    "min and max": "Real y(start = -0.5, min = -3, max = 4); Real x(start = 0.3, fixed = true); "
    "equation y + 0.1*y^3 = a*b; der(x) = y - x;",
    "a pole between": "Real y(start = 0.5); Real x(start = 0.3, fixed = true); "
    "equation 1/(y - 0.1) + y = -2.5 - 0.1*a*b; der(x) = y - x;",
    "a loop of two": "Real y(start = 0.5); Real w(start = 0.5); Real x(start = 0.3, fixed = true); "
    "equation y + 0.3*sin(w) + y^3 = -a; w + w^3 + 0.2*y = b; der(x) = y + w - x;",
    "a diode": "Real i; Real v; Real x(start = 0.3, fixed = true); "
    "equation i = 1e-9*(exp(v/0.025) - 1); v = a*b - x - 1000*i; der(x) = 1000*i - x;",
    "at rest": "Real x(start = 1); Real v(start = 0.1); Real y(start = 0.4); "
    "initial equation der(x) = 0; der(v) = 0; "
    "equation der(x) = a - x^3 - v; der(v) = b*x - v - y; y^3 + y = v - x*a;",
    "a free parameter": "parameter Real k(fixed = false, start = 1); Real y(start = 0.2); "
    "Real x(start = 1, fixed = true); initial equation der(x) = -b; "
    "equation der(x) = a - k*x - y; y + y^3 = k*a;",
    "a relation": "Real y(start = 0.5); Real x(start = 0.3, fixed = true); "
    "equation y + (if y > b/2 then y^3 else 2*y) = 3*a + x; der(x) = y - x;",
    "a logical": "Real y(start = 0.5); Boolean on(start = true, fixed = true); "
    "Real x(start = 0.3, fixed = true); equation y + (if on then y^3 else 2*y) = 3*a + x; "
    "on = y > b/10 or pre(on) and x > 10; der(x) = y - x;",
    "homotopy": "Real y(start = 0.5); Real x(start = 0.3, fixed = true); "
    "equation homotopy(y^3 + y, 2*y) = a*b + x; der(x) = y - x;",
}


def response_of(body: str, outputs: tuple[str, ...] = ("x",)) -> Response:
    model = load_model(f"model M parameter Real a = 1; parameter Real b = 2; {body} end M;")
    return model.response(np.linspace(0, 1, 3), outputs=list(outputs), wrt=["a", "b"])


def in_python(response: Response) -> Initialiser:
    """What finds the same starts without compiled code."""
    plain = Initialiser(response.configuration.tuning)
    vars(plain)["_compiled"] = None
    return plain


def assert_same(found: InitialPoint, expected: InitialPoint) -> None:
    for name in ("values", "P", "x", "S", "z", "d"):
        a, b = getattr(found, name), getattr(expected, name)
        assert a.shape == b.shape, name
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14, err_msg=name)
    assert found.notes == expected.notes


@pytest.mark.parametrize("body", BODIES)
def test_starts_are_those_that_the_search_in_python_finds(body: str) -> None:
    response = response_of(BODIES[body])
    values = response.with_all_tuners(np.array([[1, 2], [1.1, 1.9], [0.8, 2.2], [1.3, 2.1]]))
    compiled, plain = response.configuration.initialiser, in_python(response)
    begun = compiled.starts(values, 0.0, np.zeros(0))
    assert begun is not None
    assert begun.found.sum() >= 2  # the others, beside a pole or a fold, are searched for
    for row in values:
        assert_same(compiled.start(row, 0.0, np.zeros(0)), plain.start(row, 0.0, np.zeros(0)))


def test_steady_starts_have_exact_sensitivities() -> None:
    response = response_of(
        "Real x(start = 1); initial equation der(x) = 0; equation der(x) = a*b - x^3;"
    )
    thetas = np.array([[1.0, 2.0], [3.0, 0.7], [0.2, 5.0]])
    begun = response.configuration.initialiser.starts(
        response.with_all_tuners(thetas), 0.0, np.zeros(0)
    )
    assert begun is not None
    assert begun.found.all()
    x = thetas.prod(axis=1) ** (1 / 3)
    np.testing.assert_allclose(begun.x[:, 0], x, rtol=1e-14)
    np.testing.assert_allclose(begun.S[:, 0], thetas[:, ::-1] / (3 * x[:, None] ** 2), rtol=1e-13)


def test_free_parameters_and_their_rates() -> None:
    """der(x) = a − k x = −b at x = 1: k = a + b."""
    response = response_of(
        "parameter Real k(fixed = false, start = 1); Real x(start = 1, fixed = true); "
        "initial equation der(x) = -b; equation der(x) = a - k*x;"
    )
    run = response.at(np.array([1.5, 0.5]))
    k, t = 2.0, np.linspace(0, 1, 3)
    x = 0.75 + 0.25 * np.exp(-k * t)
    np.testing.assert_allclose(run.Y[:, 0], x, rtol=1e-5)
    # x = a/k + (1 - a/k) exp(-k t), k = a + b
    by_k = -1.5 / k**2 * (1 - np.exp(-k * t)) - 0.25 * t * np.exp(-k * t)
    np.testing.assert_allclose(run.YS[:, 0, 1], by_k, rtol=1e-4, atol=1e-8)
    np.testing.assert_allclose(
        run.YS[:, 0, 0], by_k + (1 - np.exp(-k * t)) / k, rtol=1e-4, atol=1e-8
    )


def test_a_root_outside_of_its_range_is_left_to_the_search() -> None:
    response = response_of(
        "Real y(start = 1.1, min = 1.5, max = 5); Real x(start = 0, fixed = true); "
        "equation (y - 1)*(y - 3) = 0.01*a*x; der(x) = y - x;"
    )
    initialiser = response.configuration.initialiser
    values = response.with_all_tuners(np.array([[1.0, 2.0]]))
    begun = initialiser.starts(values, 0.0, np.zeros(0))
    assert begun is not None
    assert not begun.found.any()
    assert_same(
        initialiser.start(values[0], 0.0, np.zeros(0)),
        in_python(response).start(values[0], 0.0, np.zeros(0)),
    )
    np.testing.assert_allclose(initialiser.start(values[0], 0.0, np.zeros(0)).z, 3.0)


@pytest.mark.parametrize("backend", ["scalar", "vector"])
def test_members_without_a_start_say_so_in_the_same_words(backend: str) -> None:
    response = response_of(
        "Real y(start = 1); Real x(start = 0, fixed = true); equation y^2 = a + 0*x; der(x) = y - x;",
        ("x", "y"),
    )
    a = np.array([4.0, -1.0, 9.0, 1.0, 2.0])
    run = Ensemble(response, backend).at(np.stack([a, np.ones(5)], axis=1))
    assert run.ok.tolist() == [True, False, True, True, True]
    assert run.status[1] == NO_START
    np.testing.assert_allclose(run.Y[run.ok, 0, 1], np.sqrt(a[run.ok]), rtol=1e-12)
    np.testing.assert_allclose(run.YS[run.ok, 0, 1, 0], 0.5 / np.sqrt(a[run.ok]), rtol=1e-12)
    with pytest.raises(SimulationError, match="no consistent initial values found") as told:
        in_python(response).start(
            response.with_all_tuners(np.array([[-1.0, 1.0]]))[0], 0.0, np.zeros(0)
        )
    assert run.failures[1] == told.value.message


def test_numbers_are_those_of_the_search_in_python() -> None:
    tried: list[float] = []
    newton.continue_root(lambda U, share: tried.append(share) or U, np.zeros(1))
    assert tried[0] == member.FIRST_SHARE
    assert member.MODE_ROUNDS == initial.MODE_ROUNDS
    assert member.ON_BOUND == ranges.ON_BOUND
    assert len(scalar.decades()) == layout.AWAY
    assert scalar._BETWEEN == layout.BETWEEN
