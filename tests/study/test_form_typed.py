"""What is typed into a field becomes the value that it means, and stands there the same again."""

from __future__ import annotations

import math
from typing import Any

import pytest

from estimica.study.form.fields import text_from_value, value_from_text
from estimica.study.form.tables import form_of

START = ("tune", "*", "start")
SHOW = ("indicator", "*", "show")
EXCLUDE = ("case", "*", "exclude")


@pytest.mark.parametrize(
    ("place", "text", "value"),
    [
        (START, "250", 250),
        (START, " 250.0 ", 250.0),
        (START, "1e-3", 1e-3),
        (START, "-inf", -math.inf),
        (START, "", None),
        (START, "1,5", "1,5"),
        (("case", "*", "name"), "run 1", "run 1"),
        (("case", "*", "name"), "12", "12"),
        (("case", "*", "active"), "False", False),
        (("case", "*", "active"), "perhaps", "perhaps"),
        (SHOW, "w, wRef", ["w", "wRef"]),
        (SHOW, '["max(a, b)", "c"]', ["max(a, b)", "c"]),
        (SHOW, '"max(a, b)", "c"', ["max(a, b)", "c"]),
        (("montecarlo", "quantiles"), "0.1, 0.9", [0.1, 0.9]),
        (("montecarlo", "quantiles"), "0.1, x", [0.1, "x"]),
        (EXCLUDE, "[1, 2], [3, 4]", [[1, 2], [3, 4]]),
        (EXCLUDE, "[1, 2]", [[1, 2]]),
        (EXCLUDE, "[[1, 2], [3, 4]]", [[1, 2], [3, 4]]),
        (("input_design", "fixed"), "{ a = 1 }", {"a": 1}),
        (("tune", "*", "scale"), "log", "log"),
        (("tune", "*", "scale"), "2", 2),
    ],
)
def test_a_typed_text_is_its_value(place: tuple[str, ...], text: str, value: Any) -> None:
    found = value_from_text(form_of(place[:-1]).field(place[-1]), text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (START, 250),
        (START, 250.0),
        (START, math.inf),
        (START, None),
        (("case", "*", "name"), "run 1"),
        (("case", "*", "active"), True),
        (SHOW, ["w", "wRef"]),
        (SHOW, ["max(a, b)", "c"]),
        (EXCLUDE, [[1, 2], [3, 4]]),
        (EXCLUDE, [[1, 2]]),
        (("input_design", "fixed"), {"a": 1, "n.v": "x"}),
    ],
)
def test_a_written_value_is_typed_back_the_same(place: tuple[str, ...], value: Any) -> None:
    assert value_from_text(form_of(place[:-1]).field(place[-1]), text_from_value(value)) == value
