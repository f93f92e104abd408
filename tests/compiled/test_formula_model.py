"""Formula models: certified problems, exact Jacobians, edges of domains, refusals, speed."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.nist import FORMULAS, Problem, read_problem

from estimica.base.errors import ModelError, SourceError
from estimica.base.signals import Signal
from estimica.compiled.model.formulas import FormulaResponse
from estimica.simulate.formula import FormulaModel, formula_model

MISRA = "b1*(1 - exp(-b2*x))"


@pytest.fixture
def misra() -> FormulaModel:
    return formula_model({"y": MISRA}, ["x"])


def responding(problem: Problem) -> FormulaResponse:
    model = formula_model({"y": problem.formula}, list(problem.inputs))
    points = np.arange(len(problem.y))
    return model.response(points, problem.inputs, wrt=list(problem.certified))


def test_there_are_27_problems(cases: Path) -> None:
    assert {p.stem for p in (cases / "nist_strd").glob("*.dat")} == set(FORMULAS)


@pytest.mark.parametrize("name", FORMULAS)
def test_certified_parameters_give_the_certified_sum_of_squares(cases: Path, name: str) -> None:
    problem = read_problem(cases / "nist_strd", name)
    run = responding(problem).at(problem.certified_values)
    assert run.ok
    rss = float(((run.Y[:, 0] - problem.y) ** 2).sum())
    if name == "Lanczos1":  # data without noise: only rounding is left
        assert rss < 1e-20
    else:
        assert rss == pytest.approx(problem.rss, rel=1e-9)


@pytest.mark.parametrize("name", FORMULAS)
def test_jacobians_are_those_of_central_differences(cases: Path, name: str) -> None:
    problem = read_problem(cases / "nist_strd", name)
    response = responding(problem)
    for theta in (problem.certified_values, np.array(list(problem.starts[1].values()))):
        exact = response.at(theta).YS[:, 0, :]
        assert exact.shape == (len(problem.y), len(theta))
        for k, value in enumerate(theta):
            above, below = theta.copy(), theta.copy()
            above[k] += 1e-6 * abs(value)
            below[k] -= 1e-6 * abs(value)
            rise = response.at(above).Y[:, 0] - response.at(below).Y[:, 0]
            scale = np.abs(exact[:, k]).max()
            np.testing.assert_allclose(
                exact[:, k], rise / (above[k] - below[k]), rtol=0, atol=2e-7 * scale
            )


def test_several_outputs_share_parameters_and_keep_their_order() -> None:
    model = formula_model({"u": "a*x^2 + c*z", "v": "x*z", "w": "a + c"}, ["x", "z"])
    x, z = np.array([1.0, 2.0, 3.0]), 5.0
    run = model.response(
        range(3), {"x": x, "z": z}, {"c": 10.0}, outputs=["w", "u", "v"], wrt=["c", "a"]
    ).at(np.array([20.0, 2.0]))
    np.testing.assert_allclose(run.Y, np.column_stack([np.full(3, 22.0), 2 * x**2 + 100, 5 * x]))
    assert run.YS.shape == (3, 3, 2)
    np.testing.assert_allclose(run.YS[:, 0], np.ones((3, 2)))
    np.testing.assert_allclose(run.YS[:, 1], np.column_stack([np.full(3, 5.0), x**2]))
    np.testing.assert_allclose(run.YS[:, 2], 0.0)


def test_inputs_are_numbers_arrays_or_signals_at_the_points(misra: FormulaModel) -> None:
    x = np.array([1.0, 4.0, 2.0])
    expected = 3 * (1 - np.exp(-0.5 * x))
    for given in (
        x,
        Signal(np.arange(3.0), x),
        (np.arange(3), x),
        Signal(np.arange(-1.0, 3), np.r_[9, x]),
    ):
        run = misra.response(np.arange(3), {"x": given}, {"b1": 3, "b2": 0.5}).at()
        np.testing.assert_allclose(run.Y[:, 0], expected)
        assert run.YS.shape == (3, 1, 0)
    constant = misra.response(np.arange(3), {"x": 2.0}, {"b1": 3, "b2": 0.5}).at()
    np.testing.assert_allclose(constant.Y[:, 0], np.full(3, expected[2]))


def test_tuners_without_a_value_are_nan_until_one_is_given(misra: FormulaModel) -> None:
    response = misra.response(np.arange(2), {"x": np.ones(2)}, {"b2": 0.25}, wrt=["b1", "b2"])
    np.testing.assert_array_equal(response.tuners, [np.nan, 0.25])
    np.testing.assert_array_equal(response.times, [0.0, 1.0])
    assert not response.at().ok
    assert response.at(np.array([1.0, 1.0])).ok


def test_results_are_not_overwritten_by_the_next_evaluation(misra: FormulaModel) -> None:
    response = misra.response(np.arange(4), {"x": np.arange(4.0)}, wrt=["b1", "b2"])
    first = response.at(np.array([1.0, 1.0]))
    kept = first.Y.copy(), first.YS.copy()
    response.at(np.array([2.0, 3.0]))
    np.testing.assert_array_equal(first.Y, kept[0])
    np.testing.assert_array_equal(first.YS, kept[1])


def test_tables_name_inputs_outputs_and_parameters(misra: FormulaModel) -> None:
    assert not misra.has_time
    assert misra.output_names() == ("y",)
    assert list(misra.inputs.index) == ["x"]
    assert list(misra.parameters.index) == ["b1", "b2"]
    assert misra.parameters["tunable"].all()
    assert misra.parameters["value"].tolist() == [None, None]
    assert misra.states.empty
    assert repr(misra) == f"<Formula model formula: y = {MISRA}>"


def test_a_model_survives_pickling(misra: FormulaModel) -> None:
    again = pickle.loads(pickle.dumps(misra))
    run = again.response([0], {"x": 1.0}, {"b1": 1.0, "b2": 1.0}).at()
    assert run.Y[0, 0] == pytest.approx(1 - np.exp(-1))


# --- points without a value ----------------------------------------------------------------------


def test_a_point_without_a_value_is_told_with_inputs_and_parameters() -> None:
    model = formula_model({"y": "a*log(x - b)"}, ["x"])
    x = np.array([3.0, 1.0, 0.5])
    run = model.response(np.arange(3), {"x": x}, {"a": 4.0}, wrt=["b"]).at(np.array([2.0]))
    assert not run.ok
    assert run.status == 10
    assert run.text == "output 'y' is not finite at point 1 (x = 1), with a = 4, b = 2"
    assert run.Y[0, 0] == 0.0


def test_a_derivative_without_a_value_is_told() -> None:
    model = formula_model({"y": "a*x + sqrt(b)"}, ["x"])
    response = model.response(np.arange(2), {"x": np.ones(2)}, wrt=["a", "b"])
    run = response.at(np.array([1.0, 0.0]))
    assert not run.ok
    assert (
        run.text
        == "the derivative of output 'y' by 'b' is not finite at point 0 (x = 1), with a = 1, b = 0"
    )


@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.5])
def test_powers_of_zero_have_their_derivatives(exponent: float) -> None:
    model = formula_model({"y": "a*(x/k)^b"}, ["x"])
    x = np.array([0.0, 1.0, 2.0])
    run = model.response(np.arange(3), {"x": x}, wrt=["a", "k", "b"]).at(
        np.array([3.0, 2.0, exponent])
    )
    assert run.ok
    assert run.text == "all points computed"
    np.testing.assert_array_equal(run.YS[0, 0], np.zeros(3))
    u = x[1:] / 2
    columns = [u**exponent, -3 * exponent * u**exponent / 2, 3 * u**exponent * np.log(u)]
    np.testing.assert_allclose(run.YS[1:, 0], np.column_stack(columns), atol=1e-15)


def test_root_of_a_parameter_times_zero_is_no_failure() -> None:
    model = formula_model({"y": "sqrt(b*x)"}, ["x"])
    run = model.response([0, 1], {"x": np.array([0.0, 4.0])}, wrt=["b"]).at(np.array([1.0]))
    assert run.ok
    np.testing.assert_allclose(run.YS[:, 0, 0], [0.0, 1.0])


def test_huge_finite_values_are_no_failure() -> None:
    model = formula_model({"y": "b*x"}, ["x"])
    run = model.response([0, 1], {"x": np.array([1e308, 1e308])}, wrt=["b"]).at(np.array([1.0]))
    assert run.ok


# --- refusals ------------------------------------------------------------------------------------


def test_an_input_that_no_formula_uses_is_refused() -> None:
    with pytest.raises(
        ModelError, match=r"^M074: input 'X': no formula uses it; did you mean 'x'\?$"
    ):
        formula_model({"y": MISRA}, ["X"])
    with pytest.raises(
        ModelError, match=r"^M074: input 'temp': no formula uses it \(names: b1, b2, x\)$"
    ):
        formula_model({"y": MISRA}, ["temp"])
    with pytest.raises(
        ModelError, match=r"^M074: input 'e': in a formula e is the number 2.71828; choose"
    ):
        formula_model({"y": "b*e"}, ["e"])


def test_a_formula_without_parameters_is_refused() -> None:
    with pytest.raises(
        ModelError,
        match=r"^M076: 'a\*x': no parameter to be found, all names are inputs; write one into the formula, or "
        r"leave it out of the inputs \(a, x\)$",
    ):
        formula_model({"y": "a*x"}, ["a", "x"])


def test_other_wrong_formulas_are_refused() -> None:
    with pytest.raises(ModelError, match=r"^M073: a formula model needs a formula"):
        formula_model({}, [])
    with pytest.raises(ModelError, match=r"^M075: 'y' is an output and cannot stand in a formula"):
        formula_model({"y": "a*y"}, [])
    with pytest.raises(SourceError, match=r"^S040: formula of output 'y': write \^ for the power"):
        formula_model({"y": "a**2"}, [])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"inputs": {}}, "M082: input 'x' is not given; a formula needs it"),
        ({"inputs": {"x": 1, "X": 2}}, "M079: the formula has no input 'X'; did you mean 'x'?"),
        ({"wrt": ["b3"]}, "M079: the formula has no parameter 'b3' (parameters: b1, b2)"),
        ({"wrt": ["x"]}, "M078: 'x' is an input, no parameter"),
        ({"wrt": ["b1", "b1"]}, "M080: parameter 'b1' is named twice"),
        ({"outputs": ["z"]}, "M079: the formula has no output 'z' (outputs: y)"),
        ({"parameters": {"b1": 1}, "wrt": []}, "M081: parameter 'b2' of output 'y' has no value; tune it or set it"),
        ({"parameters": {"c": 1}}, "M079: the formula has no parameter 'c' (parameters: b1, b2)"),
        ({"parameters": {"b1": "one"}}, "M083: 'b1': 'one' is not a number"),
        ({"parameters": {"b1": float("nan")}}, "M084: 'b1': nan is not finite"),
        ({"start": {"z": 1}}, "M077: a formula has no state 'z'; leave start= out"),
        ({"inputs": {"x": np.zeros(2)}}, "M085: input 'x': 2 values for 3 points"),
        ({"inputs": {"x": np.array([1.0, np.nan, 1.0])}}, "M086: input 'x' is nan at point 1; leave that point out"),
        ({"inputs": {"x": ([0, 2], [1, 1])}}, "M087: input 'x' has no value at point 1; leave it out"),
        ({"inputs": {"x": ([1, 2], [1, 1])}}, "M087: input 'x' has no value at point 0; leave it out"),
        ({"times": []}, "M088: no points; a formula needs at least one"),
    ],
)  # fmt: skip
def test_wrong_experiments_are_refused(
    misra: FormulaModel, arguments: dict[str, object], message: str
) -> None:
    given = {"times": range(3), "inputs": {"x": 1.0}, "wrt": ["b1", "b2"], **arguments}
    with pytest.raises(ModelError) as error:
        misra.response(**given)  # type: ignore[arg-type]
    assert str(error.value) == message


# --- speed ---------------------------------------------------------------------------------------


def _quickest(work: Callable[[], object], repeat: int) -> float:
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def _by_hand(b: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    decay = np.exp(-b[1] * x)
    J = np.empty((len(x), 2))
    J[:, 0] = 1 - decay
    J[:, 1] = b[0] * x * decay
    return b[0] * (1 - decay), J


def test_a_million_points_cost_no_more_than_three_times_numpy_by_hand(misra: FormulaModel) -> None:
    x, b = np.linspace(1, 10, 10**6), np.array([240.0, 0.05])
    response = misra.response(np.arange(len(x)), {"x": x}, wrt=["b1", "b2"])
    value, jacobian = _by_hand(b, x)
    run = response.at(b)
    np.testing.assert_allclose(run.Y[:, 0], value, rtol=1e-12)
    np.testing.assert_allclose(run.YS[:, 0], jacobian, rtol=1e-12)
    assert _quickest(lambda: response.at(b), 5) < 3 * _quickest(lambda: _by_hand(b, x), 5)


def test_a_few_points_cost_less_than_100_microseconds(misra: FormulaModel) -> None:
    response = misra.response(np.arange(20), {"x": np.linspace(1, 10, 20)}, wrt=["b1", "b2"])
    theta = np.array([240.0, 0.05])
    assert _quickest(lambda: response.at(theta), 200) < 100e-6
