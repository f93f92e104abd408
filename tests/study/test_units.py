"""Units: known pairs convert, other spellings are the same, different quantities do not mix."""

from __future__ import annotations

import math

import pytest

from estimica.study.units import UnknownUnit, conversion

PAIRS = [
    ("degC", "K", 1.0, 273.15),
    ("K", "degC", 1.0, -273.15),
    ("°F", "degC", 5 / 9, -160 / 9),
    ("degF", "K", 5 / 9, 459.67 * 5 / 9),
    ("bar", "Pa", 1e5, 0),
    ("mbar", "Pa", 100, 0),
    ("kPa", "bar", 0.01, 0),
    ("MPa", "Pa", 1e6, 0),
    ("psi", "bar", 0.06894757293168361, 0),
    ("min", "s", 60, 0),
    ("h", "s", 3600, 0),
    ("d", "h", 24, 0),
    ("ms", "s", 1e-3, 0),
    ("mm", "m", 1e-3, 0),
    ("cm", "mm", 10, 0),
    ("g", "kg", 1e-3, 0),
    ("deg", "rad", math.pi / 180, 0),
    ("deg/s", "rad/s", math.pi / 180, 0),
    ("rpm", "rad/s", 2 * math.pi / 60, 0),
    ("1/min", "1/s", 1 / 60, 0),
    ("rpm", "Hz", 1 / 60, 0),
    ("Hz", "rad/s", 2 * math.pi, 0),
    ("%", "1", 0.01, 0),
    ("L/min", "m3/s", 1e-3 / 60, 0),
    ("m³/h", "m3/s", 1 / 3600, 0),
    ("m^3/h", "l/s", 1 / 3.6, 0),
    ("kg/h", "kg/s", 1 / 3600, 0),
    ("kW", "W", 1000, 0),
    ("kWh", "J", 3.6e6, 0),
    ("kJ", "J", 1000, 0),
    ("km/h", "m/s", 1 / 3.6, 0),
    ("mA", "A", 1e-3, 0),
    ("µm", "m", 1e-6, 0),
    ("N.m", "J", 1, 0),
    ("kJ/(kg.K)", "J/(kg.K)", 1000, 0),
    ("W/m2/K", "W/(m2.K)", 1, 0),
    ("kg·m²/s²", "J", 1, 0),
    ("kg.m2.s-2", "J", 1, 0),
    ("kΩ", "Ohm", 1000, 0),
]


@pytest.mark.parametrize(("given", "wanted", "scale", "offset"), PAIRS)
def test_known_pairs_convert(given: str, wanted: str, scale: float, offset: float) -> None:
    found = conversion(given, wanted)
    assert found is not None
    assert found.scale == pytest.approx(scale, rel=1e-12)
    assert found.offset == pytest.approx(offset, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("one", "other"),
    [("°C", "degC"), ("sec", "s"), ("-", "1"), ("1/s", "Hz"), ("J/s", "W"), ("Nm", "N.m")],
)
def test_other_spellings_are_the_same_unit(one: str, other: str) -> None:
    found = conversion(one, other)
    assert found is not None
    assert found.is_nothing


@pytest.mark.parametrize(("one", "other"), [("K", "bar"), ("m", "m2"), ("kW", "kWh"), ("%", "K")])
def test_different_quantities_do_not_convert(one: str, other: str) -> None:
    assert conversion(one, other) is None


@pytest.mark.parametrize("unit", ["furlong", "m/", "(m", "m)", "", "m2x", "$"])
def test_an_unknown_unit_is_a_told(unit: str) -> None:
    with pytest.raises(UnknownUnit):
        conversion(unit, "m")


def test_the_keys_to_write_are_short_and_exact() -> None:
    def text(one: str, other: str) -> str:
        found = conversion(one, other)
        assert found is not None
        return found.text

    assert text("degC", "K") == "offset = 273.15"
    assert text("kPa", "bar") == "scale = 0.01"
    assert text("degF", "degC") == "scale = 0.555555555555556, offset = -17.7777777777778"
    assert text("psi", "Pa") == "scale = 6894.75729316836"
