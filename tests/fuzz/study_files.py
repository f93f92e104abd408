"""Study files for the fuzz: those of the examples, injured as text, as values and as structure."""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path
from typing import Any

from tests.fuzz.odd_values import BYTES, NUMBERS, TEXTS, mangled_bytes

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = (
    "compressor/compressor", "compressor/function", "condenser/condenser", "dc_motor/linear",
    "dead_zone_circuit/dead_zone_circuit", "drum_boiler/boiler", "first_order/first_order",
    "furuta_pendulum/arm", "heat_exchanger/constant_flow", "impedance/cell", "ohm/ohm",
    "rc_circuit/rc_circuit", "resistor/resistor", "saturation/saturation", "tube/tube",
    "two_point_noise/two_point_noise", "filter/filter", "input_design/kutau",
)  # fmt: skip
#: commands that read a study, the usual ones more often; all with little to do
COMMANDS = (
    *(["check"], ["check", "--json"], ["fit", "--max-iterations", "5", "--no-store", "--quiet"])
    * 5,
    *(["fit", "--max-iterations", "5", "--json"], ["fit", "--max-iterations", "3"]) * 3,
    ["residuals", "--no-store", "--quiet", "--json"],
    ["identifiability", "--no-store", "--quiet", "--json"],
    ["bootstrap", "--replicates", "3", "--executor", "serial", "--no-store", "--quiet", "--json"],
    ["crossvalidate", "--executor", "serial", "--no-store", "--quiet"],
    [
        "optimise",
        "--max-evaluations",
        "20",
        "--executor",
        "serial",
        "--no-store",
        "--quiet",
        "--json",
    ],
    ["sweep", "--samples", "4", "--executor", "serial", "--no-store", "--quiet", "--json"],
)
_VALUE = re.compile(r"""(?<==)\s*("[^"\n]*"|[-+.\w]+)""")
_NUMBER = re.compile(r"[=,\[]\s*(-?\d+\.?\d*(?:e-?\d+)?)(?=[\s,}\]])")
_ODD_TOML = (
    "true", "false", "[]", "{}", "[1, 2]", '["x"]', "{ a = 1 }", "[[1, 2]]", "1979-05-27", "07:32:00",
    "nan", "inf", "-inf", "0x7fffffffffffffffffff", "0b1", '"\\u0000"', '"\\u001b[31mred"', "'''",
    '"', "[", "{", "=", "1.", "_1", '"a\\nb"', "[[[[[]]]]]", "1e", "0o17",
)  # fmt: skip


def lay_out(place: Path) -> None:
    """The examples with their models and data, as far as studies need them."""
    for name in sorted({e.partition("/")[0] for e in EXAMPLES}):
        ignored = shutil.ignore_patterns(".estimica", "__pycache__")
        shutil.copytree(ROOT / "examples" / name, place / name, ignore=ignored)
    for model in (ROOT / "examples").glob("*.mo"):
        shutil.copy(model, place)


def injured_study(seed: int, place: Path) -> tuple[Path, list[str]]:
    """A study file in the folder of its example, and the command to try on it."""
    chance = random.Random(f"study {seed}")
    example = place / f"{chance.choice(EXAMPLES)}.toml"
    text = example.read_text(encoding="utf-8")
    for _ in range(chance.randint(1, 2)):
        text = chance.choice(_INJURIES)(text, chance)
    if "[solver]" not in text:  # a simulation may be long for good reasons; nobody waits for it
        text += "\n[solver]\nmax_seconds = 5\n"
    content = text.encode("utf-8", "surrogatepass")
    if chance.random() < 0.1:
        content = mangled_bytes(content, chance)
    path = example.with_name(f"injured{seed}.toml")
    path.write_bytes(content)
    name, *options = chance.choice(COMMANDS)
    return path.parent, [name, path.name, *options]


def _odd(chance: random.Random) -> str:
    kind = chance.randrange(3)
    if kind == 0:
        return chance.choice(NUMBERS)
    if kind == 1:
        text = chance.choice(TEXTS).replace("\\", "\\\\").replace('"', '\\"')
        return f'"{text}"'
    return chance.choice(_ODD_TOML)


def _other_value(text: str, chance: random.Random) -> str:
    places = list(_VALUE.finditer(text))
    if not places:
        return text
    one = chance.choice(places)
    return f"{text[: one.start(1)]}{_odd(chance)}{text[one.end(1) :]}"


def _other_size(text: str, chance: random.Random) -> str:
    places = list(_NUMBER.finditer(text))
    if not places:
        return text
    one = chance.choice(places)
    factor = chance.choice((0.0, -1.0, 0.1, 10.0, 1e3, 1e-3, 1e9, 1e-9, 1e30, 1e-30))
    return f"{text[: one.start(1)]}{float(one[1]) * factor!r}{text[one.end(1) :]}"


def _other_line(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    k, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    match chance.randrange(4):
        case 0:
            del lines[k]
        case 1:
            lines.insert(k, lines[other])
        case 2:
            lines[k], lines[other] = lines[other], lines[k]
        case _:
            lines[k] = lines[k][: chance.randrange(len(lines[k]) + 1)]
    return "\n".join(lines)


def _more_keys(text: str, chance: random.Random) -> str:
    """A key that the schema knows, in a table that it knows, with an odd value."""
    table, keys = chance.choice(_known_keys())
    header = f"[[{table}]]" if table in ("case", "criterion", "indicator") else f"[{table}]"
    line = f"{chance.choice(keys)} = {_odd(chance)}"
    if header in text:
        return text.replace(header, f"{header}\n{line}", 1)
    return f"{text}\n{header}\n{line}\n"


def _more_of_a_tuner(text: str, chance: random.Random) -> str:
    key = chance.choice(("scale", "min", "max", "start", "prior", "drives", "active", "unit"))
    value = _odd(chance)
    if key == "prior":
        value = f"{{ mean = {_odd(chance)}, sigma = {_odd(chance)} }}"
    return text.replace("{ start", f"{{ {key} = {value}, start", 1)


def _other_letters(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text) + 1)
    more = (
        chance.choice(BYTES).decode("latin-1")
        if chance.random() < 0.3
        else chance.choice("[]=\"'#.\n")
    )
    return text[:at] + more + text[at + chance.randrange(3) :]


def _known_keys() -> list[tuple[str, list[str]]]:
    from estimica.study.tables.schema import study_schema

    schema: dict[str, Any] = study_schema()
    found = []
    for table, entry in schema["properties"].items():
        inner = entry.get("items", entry)
        name = str(inner.get("$ref") or inner.get("allOf", [{}])[0].get("$ref", "")).rpartition(
            "/"
        )[2]
        keys = list(schema["$defs"].get(name, {}).get("properties", {}))
        if keys:
            found.append((table, keys))
    return found


_INJURIES = (
    *(_other_value,) * 3, *(_other_size,) * 4, _other_line, *(_more_keys,) * 2, _more_of_a_tuner,
    _other_letters,
)  # fmt: skip
