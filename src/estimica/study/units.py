"""Units: whether two mean the same, and the factor and offset that turn one into the other."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache

#: exponents of m, kg, s, A, K, mol, cd, then of angle (rad) and of turns (cycles)
Dimension = tuple[float, ...]
_NONE: Dimension = (0.0,) * 9
_ANGLE, _TURN = 7, 8
_RADIANS_A_TURN = 2 * math.pi
#: factors that differ by less are the same: they are products of a few numbers, each rounded to
#: 1e-16
_SAME = 1e-12


def _of(
    m: float = 0,
    kg: float = 0,
    s: float = 0,
    a: float = 0,
    k: float = 0,
    mol: float = 0,
    cd: float = 0,
    angle: float = 0,
    turn: float = 0,
) -> Dimension:
    return tuple(float(e) for e in (m, kg, s, a, k, mol, cd, angle, turn))


class UnknownUnit(ValueError):
    """A text that is not a unit, or none of those below."""


class AmbiguousUnit(UnknownUnit):
    """Units that are the same or not, depending on what is counted: `1/s` and `rad/s`."""


@dataclass(frozen=True)
class Unit:
    """SI value = factor · value + offset; angles in rad, turns in cycles."""

    factor: float
    dimension: Dimension
    offset: float = 0.0

    @property
    def of_angles(self) -> bool:
        """Whether it speaks of angles, as rad/s and deg/s do, and Hz does not."""
        return self.dimension[_ANGLE] != 0

    def in_radians(self) -> tuple[float, tuple[float, ...]]:
        """The factor and the exponents of m, kg, s, A, K, mol, cd, rad."""
        *others, angle, turn = self.dimension
        return self.factor * _RADIANS_A_TURN**turn, (*others, angle + turn)


_LENGTH, _MASS, _TIME, _KELVIN = _of(m=1), _of(kg=1), _of(s=1), _of(k=1)
_PRESSURE, _ENERGY, _POWER = _of(-1, 1, -2), _of(2, 1, -2), _of(2, 1, -3)
_MOLE, _CANDELA = _of(mol=1), _of(cd=1)
_FORCE, _VOLUME = _of(1, 1, -2), _of(m=3)

#: those that take prefixes
_METRIC = {
    "m": Unit(1, _LENGTH), "g": Unit(1e-3, _MASS), "s": Unit(1, _TIME), "A": Unit(1, _of(a=1)),
    "K": Unit(1, _KELVIN), "mol": Unit(1, _MOLE), "cd": Unit(1, _CANDELA),
    "lm": Unit(1, _of(cd=1, angle=2)), "lx": Unit(1, _of(-2, cd=1, angle=2)),
    "rad": Unit(1, _of(angle=1)), "sr": Unit(1, _of(angle=2)), "Hz": Unit(1, _of(s=-1, turn=1)),
    "Bq": Unit(1, _of(s=-1)), "N": Unit(1, _FORCE), "Pa": Unit(1, _PRESSURE),
    "bar": Unit(1e5, _PRESSURE), "J": Unit(1, _ENERGY), "Wh": Unit(3600, _ENERGY),
    "Nm": Unit(1, _ENERGY), "Ws": Unit(1, _ENERGY),
    "eV": Unit(1.602176634e-19, _ENERGY), "cal": Unit(4.1868, _ENERGY), "W": Unit(1, _POWER),
    "VA": Unit(1, _POWER), "var": Unit(1, _POWER), "C": Unit(1, _of(s=1, a=1)),
    "Ah": Unit(3600, _of(s=1, a=1)), "V": Unit(1, _of(2, 1, -3, -1)),
    "Ohm": Unit(1, _of(2, 1, -3, -2)), "S": Unit(1, _of(-2, -1, 3, 2)),
    "F": Unit(1, _of(-2, -1, 4, 2)), "H": Unit(1, _of(2, 1, -2, -2)),
    "Wb": Unit(1, _of(2, 1, -2, -1)), "T": Unit(1, _of(0, 1, -2, -1)),
    "l": Unit(1e-3, _VOLUME), "L": Unit(1e-3, _VOLUME), "t": Unit(1e3, _MASS),
}  # fmt: skip
_OTHERS = {
    "1": Unit(1, _NONE), "%": Unit(0.01, _NONE), "ppm": Unit(1e-6, _NONE),
    "deg": Unit(math.pi / 180, _of(angle=1)), "gon": Unit(math.pi / 200, _of(angle=1)),
    "arcmin": Unit(math.pi / 10800, _of(angle=1)), "arcsec": Unit(math.pi / 648000, _of(angle=1)),
    "rev": Unit(1, _of(turn=1)), "rpm": Unit(1 / 60, _of(s=-1, turn=1)),
    "min": Unit(60, _TIME), "h": Unit(3600, _TIME),
    "d": Unit(86400, _TIME), "degC": Unit(1, _KELVIN, 273.15),
    "degF": Unit(5 / 9, _KELVIN, 459.67 * 5 / 9), "degR": Unit(5 / 9, _KELVIN),
    "atm": Unit(101325, _PRESSURE), "psi": Unit(6894.757293168361, _PRESSURE),
    "mmHg": Unit(133.322387415, _PRESSURE), "mH2O": Unit(9806.65, _PRESSURE),
    "in": Unit(0.0254, _LENGTH), "ft": Unit(0.3048, _LENGTH), "mi": Unit(1609.344, _LENGTH),
    "mph": Unit(0.44704, _of(1, 0, -1)), "lb": Unit(0.45359237, _MASS),
    "lbf": Unit(4.4482216152605, _FORCE), "gal": Unit(3.785411784e-3, _VOLUME),
    "kgf": Unit(9.80665, _FORCE), "Torr": Unit(101325 / 760, _PRESSURE),
    "kn": Unit(1852 / 3600, _of(1, 0, -1)),
    "hp": Unit(745.6998715822702, _POWER), "PS": Unit(735.49875, _POWER),
    "Btu": Unit(1055.05585262, _ENERGY), "ha": Unit(1e4, _of(m=2)),
    "mmH2O": Unit(9.80665, _PRESSURE), "inH2O": Unit(249.08891, _PRESSURE),
    "inHg": Unit(3386.38864034, _PRESSURE), "oz": Unit(0.028349523125, _MASS),
    "yd": Unit(0.9144, _LENGTH), "week": Unit(604800, _TIME),
}  # fmt: skip
_PREFIXES = {
    "T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3, "h": 1e2, "da": 10.0, "d": 0.1, "c": 1e-2,
    "m": 1e-3, "u": 1e-6, "n": 1e-9, "p": 1e-12,
}  # fmt: skip
_SPELLINGS = {
    "º": "°", "° ": "°", "°C": "degC", "℃": "degC", "°F": "degF", "°K": "K", "°": "deg",
    "Ω": "Ohm", "\u2126": "Ohm", "ohm": "Ohm", "µ": "u", "μ": "u", "²": "2", "³": "3", "⁻¹": "-1",
    "⁻²": "-2", "⁻³": "-3", "·": ".", "⋅": ".", "**": "^", "*": ".",
}  # fmt: skip
_WORDS = {
    "sec": "s", "second": "s", "seconds": "s", "minute": "min", "minutes": "min", "hr": "h",
    "hour": "h", "hours": "h", "day": "d", "days": "d", "degree": "deg", "degrees": "deg",
    "Celsius": "degC", "celsius": "degC", "Kelvin": "K", "kelvin": "K", "percent": "%",
    "pct": "%", "inch": "in", "RPM": "rpm", "r": "rev", "U": "rev", "lbs": "lb", "BTU": "Btu",
    "grad": "gon", "cycle": "rev", "cycles": "rev", "turn": "rev", "turns": "rev", "rps": "rev/s",
    "cps": "rev/s", "PSI": "psi", "Liter": "l", "liter": "l", "litre": "l", "-": "1", "none": "1",
    "deg C": "degC", "degrees C": "degC", "oC": "degC", "Fahrenheit": "degF", "deg F": "degF",
    "Upm": "rpm", "lpm": "l/min", "gpm": "gal/min", "cfm": "ft3/min", "bara": "bar", "VAr": "var",
    "%RH": "%", "%rH": "%", "% RH": "%", "% rH": "%", "1/1": "1", "sqm": "m2", "qm": "m2",
}  # fmt: skip
_PART = re.compile(r"\s*([./()]|(?:[A-Za-z%]+|1)(?:\^?\(?([+-]?\d+(?:\.\d+)?)\)?)?)")


@dataclass(frozen=True)
class Conversion:
    """value in the other unit = scale · value + offset."""

    scale: float
    offset: float

    @property
    def is_nothing(self) -> bool:
        """Whether both units are the same."""
        return math.isclose(self.scale, 1.0, rel_tol=_SAME) and abs(self.offset) < _SAME

    @property
    def text(self) -> str:
        """The keys of a study file that do it: `scale = 1000`, `offset = 273.15`, or both."""
        parts = []
        if not math.isclose(self.scale, 1.0, rel_tol=_SAME):
            parts.append(f"scale = {_short(self.scale)}")
        if abs(self.offset) >= _SAME:
            parts.append(f"offset = {_short(self.offset)}")
        return ", ".join(parts)


def conversion(given: str, wanted: str, *, difference: bool = False) -> Conversion | None:
    """From one unit to another; None where they measure different things.

    A `difference` has no zero of its scale: 5 °C more are 5 K more. Raises UnknownUnit for a unit
    that is not known.
    """
    a, b = normalised_spelling(given), normalised_spelling(wanted)
    if a == b:
        return Conversion(1.0, 0.0)
    first, second = parse_unit(a), parse_unit(b)
    if first.dimension[:_ANGLE] != second.dimension[:_ANGLE]:
        return None
    factor = first.factor / second.factor * _angle_factor(first, second, f"{given} and {wanted}")
    offset = 0.0 if difference else (first.offset - second.offset) / second.factor
    return Conversion(factor, offset)


#: letters that people write for another unit than the one they are
_MEANT: dict[str, str] = {"C": "degC", "F": "degF", "M": "m", "c": "degC", "f": "degF", "G": "g"}
#: units that end a name such as n_rpm, and hardly ever mean anything else; letters alone do
_ENDINGS = re.compile(
    r"[_ ](rpm|degC|degF|°C|°F|bar|mbar|hPa|kPa|MPa|psi|kW|MW|kWh|MWh|Wh|kHz|MHz|Hz|Nm|kN|kJ|MJ|"
    r"mm|cm|km|ms|us|mA|mV|kV|rad|deg|percent|pct|lpm|kg|mg|ppm)$"
)
_TIME_ENDINGS = re.compile(r"^(?:t|time|zeit|elapsed)\w*?[_ ](s|sec|min|h|hours?|d|days?)$", re.I)


def meant_unit(unit: str, wanted: str) -> str | None:
    """The unit that was meant by a look-alike: `C` by who wants K; None where there is none."""
    meant = _MEANT.get(unit.strip())
    try:
        return meant if meant and conversion(meant, wanted) is not None else None
    except UnknownUnit:
        return None


def unit_of_name(name: str) -> str:
    """The unit that ends a column's name, as in `n_rpm` or `time_min`; empty where there is none.

    It is a guess (`x_bar` may be a mean), so whoever uses it tells, and leaves it where it does not
    fit.
    """
    found = _ENDINGS.search(name) or _TIME_ENDINGS.match(name)
    return found[1] if found else ""


def known_units() -> list[str]:
    """The names of single units, without prefixes."""
    return [*_METRIC, *_OTHERS]


def _angle_factor(first: Unit, second: Unit, both: str) -> float:
    """The factor that turns and radians add.

    A turn is 2π rad wherever both sides speak of angles. Where one side leaves them out, what it
    means depends on the quantity: frequencies count turns (Hz is 1/s, rpm is 1/min), all others
    count radians (N.m/rad is N.m). The remaining pairs, as rad/s and 1/s, or rev and 1, are read
    in both ways by different people, so that no factor is right.
    """
    (angle_1, turn_1), (angle_2, turn_2) = first.dimension[_ANGLE:], second.dimension[_ANGLE:]
    if angle_1 + turn_1 == angle_2 + turn_2:
        return float(_RADIANS_A_TURN ** (turn_1 - turn_2))
    plain = not (angle_1 or turn_1) or not (angle_2 or turn_2)
    counted = turn_1 + turn_2 != 0
    radians = angle_1 + angle_2 != 0
    if plain and not (counted and radians) and counted == _is_frequency(first):
        return 1.0
    raise AmbiguousUnit(f"{both} differ by angles")


def _is_frequency(unit: Unit) -> bool:
    """Whether it is a power of time and nothing else."""
    others = (*unit.dimension[:2], *unit.dimension[3:_ANGLE])
    return unit.dimension[2] != 0 and not any(others)


def normalised_spelling(unit: str) -> str:
    """One spelling for one unit: `°C` and `degC` are the same."""
    text = unit.strip()
    for old, new in _SPELLINGS.items():
        text = text.replace(old, new)
    return _WORDS.get(text, text)


@lru_cache(maxsize=256)
def parse_unit(unit: str) -> Unit:
    """A unit such as `W/(m2.K)`, `m^3/h` or `kg.m2/s2`; an offset counts where it stands alone."""
    try:
        return _single(unit)
    except UnknownUnit:
        pass
    position, depth = 0, 0
    factor, dimension = 1.0, _NONE
    signs = [1]  # of each open bracket
    sign = 1
    while position < len(unit):
        match = _PART.match(unit, position)
        if not match:
            raise UnknownUnit(unit)
        position = match.end()
        part = match[1]
        if part == "(":
            signs.append(signs[-1] * sign)
            sign, depth = 1, depth + 1
        elif part == ")":
            if not depth:
                raise UnknownUnit(unit)
            signs.pop()
            sign, depth = 1, depth - 1
        elif part == "/":
            sign = -1
        elif part == ".":
            sign = 1
        else:
            one = _single(re.sub(r"\^?\(?[+-]?\d+(\.\d+)?\)?$", "", part) if match[2] else part)
            power = signs[-1] * sign * float(match[2] or 1)
            factor *= one.factor**power
            dimension = tuple(a + power * b for a, b in zip(dimension, one.dimension, strict=True))
    if depth or not unit.strip() or unit.rstrip()[-1] in "./":
        raise UnknownUnit(unit)
    return Unit(factor, dimension)


def _single(name: str) -> Unit:
    name = _WORDS.get(name, name)
    if name in _OTHERS:
        return _OTHERS[name]
    if name in _METRIC:
        return _METRIC[name]
    for prefix, factor in _PREFIXES.items():
        base = _METRIC.get(name.removeprefix(prefix)) if name.startswith(prefix) else None
        if base is not None:
            return Unit(factor * base.factor, base.dimension)
    raise UnknownUnit(name)


def _short(number: float) -> str:
    """The fewest digits that give the number."""
    roundings = (float(f"{number:.{digits}g}") for digits in range(1, 18))
    return f"{next(r for r in roundings if math.isclose(r, number, rel_tol=1e-15)):.15g}"
