"""Modelica for the fuzz: models of the examples, injured in their tokens, their clauses, their bytes."""

from __future__ import annotations

import random
import re
from pathlib import Path

from tests.fuzz.odd_values import NUMBERS, mangled_bytes

ROOT = Path(__file__).resolve().parents[2]
#: file and class; small ones, so that many can be tried
MODELS = (
    ("Pendulum.mo", ""), ("Thermostat.mo", ""), ("Robertson.mo", ""), ("CoulombMotor.mo", ""),
    ("BouncingBall.mo", "BouncingBall.RestingBall"), ("FourStates.mo", ""),
    ("DeadZoneCircuit.mo", "DeadZoneCircuit.WithEvents"), ("HeatRod.mo", ""),
    ("NonlinearCircuit.mo", "NonlinearCircuit.ParallelCircuit"), ("compressor/Laws.mo", ""),
    ("condenser/Condenser.mo", ""), ("dc_motor/DCMotor.mo", ""), ("drum_boiler/Boiler.mo", ""),
    ("rc_circuit/RCCircuit.mo", ""), ("saturation/Saturation.mo", ""), ("ohm/Ohm.mo", ""),
    ("heating/HeatedRoom.mo", ""), ("filter/LowPass.mo", ""), ("tube/Tube.mo", ""),
)  # fmt: skip
_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"|[A-Za-z_]\w*|\d+\.?\d*(?:[eE][-+]?\d+)?|[<>=:]=?|\s+|.', re.S
)
_WORDS = (
    "der", "pre", "if", "then", "else", "end", "when", "equation", "algorithm", "parameter", "input",
    "output", "Real", "Integer", "Boolean", "String", "model", "function", "time", "sin", "sqrt",
    "log", "integer", "sum", "fill", "not", "and", "true", "each", "redeclare", "flow", "connect",
)  # fmt: skip
_SIGNS = (
    "+",
    "-",
    "*",
    "/",
    "^",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "=",
    ":=",
    ";",
    ",",
    ".",
    "<",
    "==",
)
_EXPRESSIONS = (
    "9^(9^(9^9))", "integer(9^400)", "1e400", "0^(-1)", "1/0", "0/0", "sqrt(-1)", "log(0)", "asin(2)",
    "div(1, 0)", "mod(5, 0)", "rem(1, 0)", "factorial(170)", "factorial(100000)", "time^1000",
    "exp(1000*time)", "exp(-1e9)", "fill(1, 1000000)[1]", "sum(1/i for i in 1:1000)", "{1, 2}[3]",
    "if time > 1 then 1 else \"x\"", "1e308*1e308", "integer(1e300)", "9223372036854775808",
    "99999999999999999999999999999999999999", "Modelica.Constants.pi", "noEvent(1/0)", "tan(1.5707963)",
    "atan2(0, 0)", "(-8)^(1/3)", "floor(1e300)", "ceil(-9^400)", "size({1, 2}, 3)", "{}", "1:0",
    "smooth(-1, 2)", "delay(time, -1)", "sample(0, 0)", "2^1024", "10^(-400)", "max({})", "abs(-2^63)",
)  # fmt: skip
_DECLARATIONS = (
    "Real zz = {e};", "parameter Real zp = {e};", "Integer zi = integer({e});", "constant Real zc = {e};",
    "Real za[3] = fill({e}, 3);", "parameter Integer n = {e}; Real zn[n];", "Boolean zb = {e} > 1;",
    "Real zs(start = {e}, fixed = true, nominal = {e}, min = {e});", "discrete Real zd;", "String s = \"x\";",
    "function factorial input Real n; output Real y; algorithm y := if n < 1 then 1 else n*factorial(n - 1);"
    " end factorial; Real zf = factorial({e});",
    "function endless input Real n; output Real y; algorithm while n > 0 loop y := n; end while; end endless;"
    " Real ze = endless(1);",
    "function ack input Integer a; input Integer b; output Integer y; algorithm y := if a == 0 then b + 1"
    " elseif b == 0 then ack(a - 1, 1) else ack(a - 1, ack(a, b - 1)); end ack; parameter Integer za = ack(4, 2);",
    "extends Missing;", "import Modelica.SIunits.*;", "replaceable model M = N;", "protected", "outer Real w;",
)  # fmt: skip
_EQUATIONS = (
    "when time > {e} then reinit(x, {e}); end when;", "for i in 1:{e} loop assert(i > 0, \"x\"); end for;",
    "assert(time < {e}, \"over\");", "terminate(\"end\");", "der(time) = {e};", "0 = {e};",
    "if time > {e} then 0 = 1; else 0 = 0; end if;", "connect(a, b);", "when sample(0, {e}) then end when;",
)  # fmt: skip


def injured_model(seed: int, place: Path) -> tuple[Path, list[str]]:
    """A folder with an injured model, and the command to try on it."""
    chance = random.Random(f"modelica {seed}")
    file, class_ = chance.choice(MODELS)
    text = (ROOT / "examples" / file).read_text(encoding="utf-8")
    for _ in range(chance.randint(1, 2)):
        text = chance.choice(_INJURIES)(text, chance)
    content = text.encode()
    if chance.random() < 0.1:
        content = mangled_bytes(content, chance)
    folder = place / f"model{seed}"
    folder.mkdir()
    name = Path(file).name
    (folder / name).write_bytes(content)
    named = [name, class_] if class_ else [name]
    commands = (
        ["inspect", *named, "--json"], ["inspect", *named],
        ["simulate", *named, "--stop", "2", "--points", "20", "--json"],
        ["simulate", *named, "--stop", "2", "--points", "20", "--sensitivity", "k"],
        ["simulate", *named, "--points", "50", "--json"],
    )  # fmt: skip
    return folder, chance.choice(commands)


def _expression(chance: random.Random) -> str:
    return chance.choice(_EXPRESSIONS) if chance.random() < 0.6 else chance.choice(NUMBERS)


def _other_token(text: str, chance: random.Random) -> str:
    tokens = _TOKEN.findall(text)
    k = chance.choice([k for k, t in enumerate(tokens) if not t.isspace()] or [0])
    names = [t for t in tokens if t[0].isalpha()] or ["x"]
    match chance.randrange(6):
        case 0:
            tokens[k] = ""
        case 1:
            tokens[k] *= 2
        case 2:
            tokens[k] = chance.choice(names)
        case 3:
            tokens[k] = chance.choice(_WORDS)
        case 4:
            tokens[k] = chance.choice(_SIGNS)
        case _:
            other = chance.randrange(len(tokens))
            tokens[k], tokens[other] = tokens[other], tokens[k]
    return "".join(tokens)


def _other_number(text: str, chance: random.Random) -> str:
    tokens = _TOKEN.findall(text)
    numbers = [k for k, t in enumerate(tokens) if t[0].isdigit()]
    if numbers:
        k = chance.choice(numbers)
        factor = chance.choice((0.0, 2.0, 0.1, 10.0, 1e3, 1e-3, 1e9, 1e-9))
        scaled = repr(float(tokens[k]) * factor)
        tokens[k] = scaled if chance.random() < 0.6 else f"({_expression(chance)})"
    return "".join(tokens)


def _further(clauses: tuple[str, ...], before: str) -> object:
    def injured(text: str, chance: random.Random) -> str:
        places = [m.start() for m in re.finditer(before, text)]
        if not places:
            return text
        at = chance.choice(places)
        clause = chance.choice(clauses).format(e=_expression(chance))
        return f"{text[:at]}{clause}\n{text[at:]}"

    return injured


def _other_line(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    k = chance.randrange(len(lines))
    if chance.random() < 0.5:
        del lines[k]
    else:
        lines.insert(k, chance.choice(lines))
    return "\n".join(lines)


_INJURIES = (
    _other_token, _other_token, *(_other_number,) * 4, _other_line,
    _further(_DECLARATIONS, r"\bequation\b"), _further(_EQUATIONS, r"\bend [A-Za-z]\w*;"),
)  # fmt: skip
