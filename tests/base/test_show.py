"""Results show themselves through the table of presenters, without importing what draws them."""

from __future__ import annotations

import inspect
import math
from typing import get_args

import numpy as np
import pytest

from estimica.base import presenters
from estimica.base import view as show
from estimica.base.text import with_error
from estimica.base.view import Curve, Curves, Form, Panel, Table

TIME = np.linspace(0.0, 1.0, 5)


def test_each_trajectory_gets_a_panel_with_its_unit() -> None:
    shown = show.trajectories([Curve("E", TIME, TIME, "MW"), Curve("A4", TIME, TIME, "1")])
    assert [panel.label for panel in shown.panels] == ["E [MW]", "A4"]


@pytest.mark.parametrize("form", list(Form))
@pytest.mark.parametrize(
    "shown",
    [Curves((Panel("y", (Curve("y", TIME, TIME),)),)), Table(("a",), ((1.0,),))],
    ids=["curves", "table"],
)
def test_everything_that_can_be_shown_has_a_renderer(shown: Curves | Table, form: Form) -> None:

    assert show.render(shown, form) is not None


def test_the_presenter_of_the_table_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(presenters.RENDERERS["Table"], Form.TEXT, "builtins:type")
    table = Table(("only",), ())
    assert show.text(table) == str(Table)


def test_every_kind_of_thing_to_see_has_all_forms() -> None:
    kinds = {kind.__name__ for kind in get_args(show.ViewElement)}
    assert set(presenters.RENDERERS) == kinds
    for kind, forms in presenters.RENDERERS.items():
        assert set(forms) == set(Form), kind


def _presenter_names() -> list[str]:
    named = [presenters.PAGE_WRITER, presenters.FIGURE_WRITER]
    for forms in presenters.RENDERERS.values():
        named += forms.values()
    named += presenters.VERDICTS.values()
    for names in presenters.SECTIONS.values():
        named += names
    return list(dict.fromkeys(named))


@pytest.mark.parametrize("name", _presenter_names())
def test_every_presenter_is_a_function_of_its_module(name: str) -> None:
    module, _, function = name.partition(":")
    named = presenters.presenter(name)
    assert inspect.isfunction(named)
    assert (named.__module__, named.__name__) == (module, function)


def test_a_rounded_number_keeps_its_value_and_travels() -> None:
    import pickle

    number = pickle.loads(pickle.dumps(show.Rounded(19.2299, 3)))
    assert (float(number), str(number)) == (19.2299, "19.230")


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (285.9123, 1.4142, "285.9 ± 1.4"),
        (2.0, 0.2, "2 ± 0.2"),
        (8.15983e-5, 1.234e-7, "8.16e-05 ± 1.2e-07"),
        (0.00528923, 0.00966344, "0.0053 ± 0.0097"),
        (1234567.0, 45678.0, "1235000 ± 46000"),
        (-1e-9, 0.5, "0 ± 0.5"),
        (3.0, math.inf, "3 ± inf"),
        (9.996, 0.0996, "10 ± 0.1"),
    ],
)
def test_a_value_has_no_digits_beyond_its_standard_error(
    value: float, error: float, words: str
) -> None:
    assert with_error(value, error) == words
