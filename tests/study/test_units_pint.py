"""Units against pint, which has its own registry: every pair of one physical quantity, both ways."""

from __future__ import annotations

import math
from itertools import permutations

import pytest

from estimica.study.units import conversion, known_units, parse_unit

pint = pytest.importorskip("pint")
REGISTRY = pint.UnitRegistry(autoconvert_offset_to_baseunit=True)

#: our names that pint spells otherwise
SPELT = {
    "Ohm": "ohm", "1": "dimensionless", "%": "percent", "gon": "grade", "rev": "turn",
    "degR": "degR", "mH2O": "mH2O", "mmH2O": "mmH2O", "inH2O": "inch_H2O_39F", "l": "liter",
    "t": "tonne", "kn": "knot", "PS": "metric_horsepower", "in": "inch",
    "C": "coulomb", "F": "farad", "H": "henry", "T": "tesla", "S": "siemens", "h": "hour",
    "d": "day", "var": "volt*ampere", "gal": "gallon", "oz": "ounce", "lb": "pound", "hp": "hp",
    "ha": "hectare", "Nm": "N*m", "Ws": "W*s", "Wh": "W*h", "Ah": "A*h", "VA": "volt*ampere", "m": "meter",
    "g": "gram", "A": "ampere", "K": "kelvin", "degC": "degC", "degF": "degF", "min": "minute",
    "mi": "mile", "kgf": "kgf", "eV": "eV", "bar": "bar", "rpm": "turn/minute", "Hz": "turn/s",
    "Torr": "torr",
}  # fmt: skip
#: of which there are several: calorie and Btu by steam tables, water of 4 °C, and light in solid
#: angles
OTHERS = {"cal", "Btu", "mH2O", "mmH2O", "inH2O", "inHg", "lm", "lx", "sr", "Bq", "week"}
COMPOUND = {
    "m3/h": "m**3/h", "l/min": "l/min", "L/s": "L/s", "kg/h": "kg/hour", "g/s": "g/s",
    "km/h": "km/hour", "m/s": "m/s", "W/K": "W/delta_degC", "W/degC": "W/delta_degC",
    "kW/degF": "kW/delta_degF", "J/(kg.K)": "J/(kg*kelvin)", "kJ/(kg.degC)": "kJ/(kg*delta_degC)",
    "W/(m2.K)": "W/(m**2*kelvin)", "kHz": "kiloturn/s", "rad/s": "rad/s", "deg/s": "deg/s",
    "rev/s": "turn/s", "rev/min": "turn/minute", "mbar": "mbar", "kPa": "kPa", "hPa": "hPa",
    "MPa": "MPa", "kW": "kW", "MW": "MW", "kWh": "kW*hour", "MWh": "MW*hour", "mm": "mm",
    "km": "km", "um": "um", "ms": "ms", "us": "us", "mA": "mA", "mV": "mV", "kV": "kV", "kN": "kN",
    "N/mm2": "N/mm**2", "mg": "mg", "kg": "kg", "ml": "ml", "kOhm": "kohm", "mS": "mS",
    "kg/m3": "kg/m**3", "g/cm3": "g/cm**3", "mol/l": "mol/l", "mmol/m3": "mmol/m**3",
}  # fmt: skip


def _all() -> dict[str, str]:
    single = {u: SPELT.get(u, u) for u in known_units() if u not in OTHERS}
    return {**single, **COMPOUND}


def _pairs() -> list[tuple[str, str]]:
    quantities: dict[tuple[float, ...], list[str]] = {}
    for unit in _all():
        parsed = parse_unit(unit)
        *others, angle, turn = parsed.dimension
        quantities.setdefault((*others, angle + turn), []).append(unit)
    return [pair for units in quantities.values() for pair in permutations(units, 2)]


def test_every_pair_of_units_of_one_quantity_converts_as_pint_has_it() -> None:
    pairs, spelt = _pairs(), _all()
    assert len(pairs) > 450
    for one, other in pairs:
        ours = conversion(one, other)
        assert ours is not None, (one, other)
        for value in (-3.7, 0.0, 1.0, 1234.5):
            theirs = REGISTRY.Quantity(value, spelt[one]).to(spelt[other]).magnitude
            mine = ours.scale * value + ours.offset
            # pint's own factors have 9 to 10 digits where they are measured (PS, hp, Torr, mmHg)
            assert math.isclose(mine, theirs, rel_tol=1e-9, abs_tol=1e-9 * abs(ours.offset)), (
                one,
                other,
                value,
            )


@pytest.mark.parametrize(("one", "other"), [("degC", "K"), ("degF", "degC"), ("degR", "degF")])
def test_differences_of_temperatures_convert_as_pint_has_it(one: str, other: str) -> None:
    ours = conversion(one, other, difference=True)
    assert ours is not None
    delta = {"degC": "delta_degC", "degF": "delta_degF", "K": "kelvin", "degR": "degR"}
    theirs = REGISTRY.Quantity(7.0, delta[one]).to(delta[other]).magnitude
    assert ours.offset == 0
    assert ours.scale * 7 == pytest.approx(theirs, rel=1e-12)


def test_pint_too_refuses_what_measures_different_things() -> None:
    units = ["K", "bar", "W", "m", "kg", "s", "A", "mol"]
    for one, other in permutations(units, 2):
        assert conversion(one, other) is None
        assert not REGISTRY.Quantity(1, one).is_compatible_with(other)
