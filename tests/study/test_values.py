"""Tuners, cases and the like built in a program: other kinds of numbers, and short forms."""

from __future__ import annotations

import pytest

import estimica as es


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
