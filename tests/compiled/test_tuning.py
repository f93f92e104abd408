"""Tunings: run constants, what follows from them, and their derivatives."""

import threading

import numpy as np
import pytest

import estimica as es

TWO_FREE = """
model TwoFree
  parameter Real p(fixed = false, start = 1);
  parameter Real q(fixed = false, start = 1);
  parameter Real a = 2;
  parameter Real b = 3;
  Real x(start = 1, fixed = true);
initial equation
  p + q = a*b;
  p - q = a - b^2;
equation
  der(x) = -p*x + q;
end TwoFree;
"""


def decay(times, a, b):
    """x' = -p x + q from x(0) = 1, with p and q from the initial equations."""
    p, q = (a * b + a - b**2) / 2, (a * b - a + b**2) / 2
    return q / p + (1 - q / p) * np.exp(-p * times)


def test_two_free_parameters_move_with_two_tuners():
    model = es.load_model(TWO_FREE, "TwoFree")
    times = np.linspace(0, 2, 5)
    options = es.Options(rtol=1e-10, atol=1e-12)
    found = model.sensitivities(times, wrt=["a", "b"], outputs=["x"], options=options)
    step = 1e-20
    by_a = decay(times, 2 + step * 1j, 3).imag / step
    by_b = decay(times, 2, 3 + step * 1j).imag / step
    assert found.jacobian[:, 0, 0] == pytest.approx(by_a, rel=1e-7, abs=1e-9)
    assert found.jacobian[:, 0, 1] == pytest.approx(by_b, rel=1e-7, abs=1e-9)


def test_prepared_runs_of_one_tuning_do_not_share_arrays():
    model = es.load_model(TWO_FREE, "TwoFree")
    tuning = model.response([0.0, 1.0], wrt=["a", "b"]).configuration.tuning
    values = np.nan_to_num(tuning.defaults, nan=1.0)
    first = tuning.prepare(values)
    kept = [a.copy() for a in first]
    tuning.prepare(2 * values)
    for a, b in zip(first, kept, strict=True):
        assert np.array_equal(a, b)


def test_threads_prepare_runs_of_one_tuning_at_once():
    model = es.load_model(TWO_FREE, "TwoFree")
    tuning = model.response([0.0, 1.0], wrt=["a", "b"]).configuration.tuning
    values = np.nan_to_num(tuning.defaults, nan=1.0)
    wrong = []

    def work(factor):
        expected = [a.copy() for a in tuning.prepare(factor * values)]
        for _ in range(500):
            found = tuning.prepare(factor * values)
            if not all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True)):
                wrong.append(factor)

    threads = [threading.Thread(target=work, args=(k,)) for k in (1.0, 2.0, 3.0)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
