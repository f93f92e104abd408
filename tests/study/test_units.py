"""Units: known pairs convert, other spellings are the same, different quantities do not mix."""

from __future__ import annotations

import math

import pytest

from estimica.study.units import AmbiguousUnit, Conversion, UnknownUnit, conversion

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


#: by hand: each group is one quantity; numbers are what one of the unit is in the first of its
#: group, with the zero of the scale where it is not that of the first
GROUPS: dict[str, dict[str, float | tuple[float, float]]] = {
    "angle": {
        "rad": 1, "mrad": 1e-3, "deg": 0.017453292519943295, "gon": 0.015707963267948967,
        "grad": 0.015707963267948967, "rev": 6.283185307179586, "arcmin": 2.908882086657216e-4,
        "arcsec": 4.84813681109536e-6,
    },
    "angular velocity": {
        "rad/s": 1, "rad/min": 0.016666666666666666, "deg/s": 0.017453292519943295,
        "deg/min": 2.908882086657216e-4, "rev/s": 6.283185307179586, "rps": 6.283185307179586,
        "Hz": 6.283185307179586, "kHz": 6283.185307179586, "MHz": 6283185.307179586,
        "mHz": 6.283185307179586e-3, "rpm": 0.10471975511965977, "rev/min": 0.10471975511965977,
        "U/min": 0.10471975511965977, "r/min": 0.10471975511965977, "rev/h": 1.7453292519943296e-3,
        "krad/s": 1e3,
    },
    "frequency": {
        "Hz": 1, "kHz": 1e3, "GHz": 1e9, "1/s": 1, "1/min": 1 / 60, "1/h": 1 / 3600, "s-1": 1,
        "min^-1": 1 / 60, "rpm": 1 / 60, "rev/s": 1, "rev/min": 1 / 60, "1/ms": 1e3,
    },
    "angular acceleration": {
        "rad/s2": 1, "deg/s2": 0.017453292519943295, "rev/s2": 6.283185307179586,
        "rpm/s": 0.10471975511965977, "Hz/s": 6.283185307179586,
    },
    "stiffness": {
        "N.m/rad": 1, "N.m": 1, "N.m/deg": 57.29577951308232, "N.m/rev": 0.15915494309189535,
    },
    "temperature": {
        "K": 1, "degC": (1, 273.15), "degF": (0.5555555555555556, 255.3722222222222),
        "degR": 0.5555555555555556, "mK": 1e-3, "°C": (1, 273.15),
    },
    "temperature rate": {
        "K/s": 1, "degC/s": 1, "degC/min": 1 / 60, "degF/h": 1.5432098765432098e-4, "K/h": 1 / 3600,
    },
    "heat transfer": {"W/(m2.K)": 1, "W/m2/degC": 1, "kW/(m2.K)": 1e3, "W/(cm2.K)": 1e4},
    "pressure": {
        "Pa": 1, "hPa": 100, "kPa": 1e3, "MPa": 1e6, "bar": 1e5, "mbar": 100, "psi": 6894.757293168,
        "atm": 101325, "mmHg": 133.322387415, "Torr": 133.32236842105263, "N/mm2": 1e6,
        "mH2O": 9806.65,
    },
    "energy": {
        "J": 1, "kJ": 1e3, "Wh": 3600, "kWh": 3.6e6, "MWh": 3.6e9, "N.m": 1, "Nm": 1,
        "kcal": 4186.8, "Btu": 1055.05585262, "W.s": 1, "kg.m2/s2": 1, "eV": 1.602176634e-19,
    },
    "power": {"W": 1, "kW": 1e3, "hp": 745.69987158227, "PS": 735.49875, "J/s": 1, "kJ/h": 1 / 3.6},
    "time": {"s": 1, "ms": 1e-3, "us": 1e-6, "min": 60, "h": 3600, "d": 86400, "hours": 3600},
    "length": {"m": 1, "mm": 1e-3, "km": 1e3, "in": 0.0254, "ft": 0.3048, "mi": 1609.344},
    "speed": {"m/s": 1, "km/h": 1 / 3.6, "mph": 0.44704, "ft/min": 0.00508, "kn": 0.5144444444444445},
    "ratio": {"1": 1, "%": 0.01, "ppm": 1e-6, "kg/kg": 1, "g/kg": 1e-3, "-": 1},
    "flow": {"m3/s": 1, "l/min": 1e-3 / 60, "L/h": 1e-3 / 3600, "m3/h": 1 / 3600, "gal/min": 6.30901964e-5},
    "resistance": {"Ohm": 1, "kOhm": 1e3, "V/A": 1, "mΩ": 1e-3},
    "force": {"N": 1, "kN": 1e3, "lbf": 4.4482216152605, "kgf": 9.80665, "kg.m/s2": 1},
    "charge": {"C": 1, "Ah": 3600, "mAh": 3.6, "A.s": 1},
}  # fmt: skip
_IN_GROUP = [
    (quantity, a, b) for quantity, units in GROUPS.items() for a in units for b in units if a != b
]
#: pairs of a group that leave open what is counted
OPEN = {frozenset(p) for p in [("N.m", "N.m/rev")]}


def _line(value: float | tuple[float, float]) -> tuple[float, float]:
    return value if isinstance(value, tuple) else (value, 0.0)


def test_all_pairs_of_units_of_one_quantity_convert_as_by_hand() -> None:
    for quantity, a, b in _IN_GROUP:
        if frozenset((a, b)) in OPEN:
            with pytest.raises(AmbiguousUnit):
                conversion(a, b)
            continue
        (scale_a, zero_a), (scale_b, zero_b) = (
            _line(GROUPS[quantity][a]),
            _line(GROUPS[quantity][b]),
        )
        found = conversion(a, b)
        assert found is not None, (quantity, a, b)
        assert found.scale == pytest.approx(scale_a / scale_b, rel=1e-11), (quantity, a, b)
        wanted = (zero_a - zero_b) / scale_b
        assert found.offset == pytest.approx(wanted, rel=1e-11, abs=1e-9), (quantity, a, b)


#: what shares all its base units with another group, or is a group's unit written otherwise
_RELATED = {
    frozenset(p)
    for p in [
        ("angle", "ratio"), ("angular velocity", "frequency"), ("stiffness", "energy"),
    ]
}  # fmt: skip


def test_units_of_different_quantities_never_convert() -> None:
    for one, units in GROUPS.items():
        for other, others in GROUPS.items():
            if one == other or frozenset((one, other)) in _RELATED:
                continue
            for a in units:
                for b in others:
                    assert conversion(a, b) is None, (a, b)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("rad/s", "1/s"), ("deg/s", "1/s"), ("rad/s2", "1/s2"), ("rev", "1"), ("m/rev", "m"),
        ("V/Hz", "V.s"), ("N.m/rev", "N.m"), ("1/min", "rad/s"), ("rad.rev", "1"),
    ],
)  # fmt: skip
def test_units_that_leave_open_what_is_counted_have_no_factor(one: str, other: str) -> None:
    for pair in ((one, other), (other, one)):
        with pytest.raises(AmbiguousUnit):
            conversion(*pair)


def test_a_way_over_a_third_unit_gives_the_same_as_the_direct_one() -> None:
    units = sorted({u for group in GROUPS.values() for u in group})
    found = {(a, b): _or_none(a, b) for a in units for b in units}
    for (a, b), first in found.items():
        for c in units if first else ():
            second, direct = found[b, c], found[a, c]
            if first and second and direct:
                assert second.scale * first.scale == pytest.approx(direct.scale, rel=1e-11), (
                    a,
                    b,
                    c,
                )


def _or_none(a: str, b: str) -> Conversion | None:
    try:
        return conversion(a, b)
    except AmbiguousUnit:
        return None
