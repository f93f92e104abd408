"""Tuners, cases and the like built in a program: what is wrong with them is told in plain words."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import estimica as es

WRONG: list[tuple[Callable[[], object], type[es.EstimicaError], str]] = [
    (
        lambda: es.Tuner("a", start="x"),
        es.TunerError,
        "T001: tuner 'a': start: 'x' is not a number",
    ),
    (
        lambda: es.Tuner("a", 1, 3, 2),
        es.TunerError,
        "T003: tuner 'a': min 3 is above max 2; swap them",
    ),
    (
        lambda: es.Tuner("a", strat=1),
        es.TunerError,
        "T001: tuner 'a': unknown key 'strat'; did you mean 'start'?",
    ),
    (
        lambda: es.Tuner("a", start="x", min="y"),
        es.TunerError,
        "T001: tuner 'a': start: 'x' is not a number; min: 'y' is not a number",
    ),
    (lambda: es.Tuner(""), es.TunerError, "T001: tuner '': name: is empty"),
    (lambda: es.Tuner(), es.TunerError, "T001: tuner: 'name' is missing"),
    (
        lambda: es.Tuner("a", prior=3),
        es.TunerError,
        "T001: tuner 'a': prior: 3 is not a table { … }",
    ),
    (lambda: es.Prior(1, -1), es.TunerError, "T001: prior: sigma: -1 is wrong, it must be above 0"),
    (
        lambda: es.Case("c", "x.csv", outputs={"y": 3}),
        es.CaseError,
        'C001: case \'c\': outputs: y: write a column "…", or a table { column = "…", … }',
    ),
    (
        lambda: es.Case("c", "x.csv", role="both"),
        es.CaseError,
        "C001: case 'c': role: 'both' is none of 'calibrate', 'validate'",
    ),
    (
        lambda: es.Case("c", "x.csv", from_=3, to=2),
        es.CaseError,
        "C014: case 'c': from 3 is not before to 2",
    ),
    (
        lambda: es.InputColumn("u", hold="lnear"),
        es.CaseError,
        "C001: input column 'u': hold: 'lnear' is none of 'previous', 'linear', 'spline'; "
        "did you mean 'linear'?",
    ),
    (
        lambda: es.OutputColumn("y", weight=0),
        es.CaseError,
        "C001: output column 'y': weight: 0 is wrong, it must be above 0",
    ),
    (
        lambda: es.StartValue(min=2, max=1),
        es.CaseError,
        "C012: start value: min 2 is not below max 1; swap them",
    ),
    (
        lambda: es.Estimation(method="newton"),
        es.StudyError,
        "Q002: estimation: method: 'newton' is none of 'levenberg-marquardt', 'gauss-newton', "
        "'steepest-descent'; did you mean 'gauss-newton'?",
    ),
    (
        lambda: es.Solver(rtol=2),
        es.StudyError,
        "Q002: solver: rtol: 2 is wrong, it must be below 1",
    ),
]


@pytest.mark.parametrize(("build", "kind", "text"), WRONG, ids=[w[2] for w in WRONG])
def test_a_wrong_value_is_told(
    build: Callable[[], object], kind: type[es.EstimicaError], text: str
) -> None:
    with pytest.raises(kind) as caught:
        build()
    assert str(caught.value) == text


def test_numbers_of_other_kinds_are_numbers() -> None:
    np = pytest.importorskip("numpy")
    assert es.Tuner("a", start=np.float32(0.5), max=np.int64(3)).start == 0.5
    assert es.Estimation(max_iterations=1e3, starts=np.int64(2)).max_iterations == 1000


def test_short_forms_are_written_out() -> None:
    case = es.Case("c", "x.csv", inputs={"u": "a", "v": 2}, outputs={"y": "b"}, free_start={"x": 1})
    assert case.columns_of_inputs == {"u": es.InputColumn("a"), "v": 2.0}
    assert case.columns_of_outputs == {"y": es.OutputColumn("b")}
    assert case.start_values == {"x": es.StartValue(start=1.0)}
    assert es.Tuner("a").driven == {"a": "a"}
    assert es.Tuner("k", drives=["a", "b"]).driven == {"a": "k", "b": "k"}
    assert es.Tuner("k", drives={"a": "2*k"}).driven == {"a": "2*k"}
