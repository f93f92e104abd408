"""Classes with inheritance, redeclaration and connections for the fuzz, injured in their tokens."""

from __future__ import annotations

import random
import re

from estimica.source.syntax.tokens import KEYWORDS

LIBRARY = """
package P
  connector Pin Real v; flow Real i; end Pin;
  connector Port Real p; flow Real m; stream Real h; end Port;
  expandable connector Bus end Bus;
  partial model TwoPin
    Pin a; Pin b; Real v = a.v - b.v;
  equation
    a.i + b.i = 0;
  end TwoPin;
  model Resistor extends TwoPin; parameter Real R(min = 0) = 2; equation v = R*a.i; end Resistor;
  model Capacitor
    extends TwoPin(v(start = 1, fixed = true)); parameter Real C = 1;
  equation
    C*der(v) = a.i;
  end Capacitor;
  model Ground Pin p; equation p.v = 0; end Ground;
  package Base constant Integer n = 2; replaceable partial function f input Real u; output Real y; end f;
  end Base;
  package Medium extends Base; redeclare replaceable function extends f algorithm y := n*u; end f; end Medium;
  package Water extends Base(n = 3); redeclare function extends f algorithm y := n*u + 1; end f; end Water;
  record Data parameter Real k = 1; parameter Real list[:] = {1, 2}; end Data;
  block Gain input Real u; output Real y; parameter Data d; equation y = d.k*sum(d.list)*u; end Gain;
  model Circuit
    replaceable model Part = Resistor(R = 3) constrainedby TwoPin;
    parameter Integer n = 2;
    Part parts[n]; Capacitor c; Ground g;
    inner parameter Real shared = 4;
    replaceable package M = Medium constrainedby Base;
    Real y = M.f(time); Real z[M.n] = fill(y, M.n);
  equation
    connect(c.a, parts[1].a);
    for k in 1:n - 1 loop connect(parts[k].b, parts[k + 1].a); end for;
    connect(parts[n].b, c.b);
    if n > 1 then connect(c.b, g.p); end if;
  end Circuit;
  model Volume outer parameter Real shared; Port p; Real h(start = 1, fixed = true);
    equation der(h) = p.m*(actualStream(p.h) - h)/shared; p.h = h; p.p = 1 + 0*h; end Volume;
  model Valve Port a; Port b; equation a.m + b.m = 0; a.m = 1e-3*(a.p - b.p);
    a.h = inStream(b.h); b.h = inStream(a.h); end Valve;
  model Sender Bus bus; Real x = time; equation connect(bus.signal, s.y); protected Gain s(u = x); end Sender;
  type Mode = enumeration(off, on);
  model Top
    extends Circuit(redeclare model Part = Resistor(R = shared), redeclare package M = Water);
    Volume v1; Volume v2; Valve valve; Gain gain(u = time, d(k = 2)); Gain other(u = gain.y, d = data);
    parameter Data data(list = {1, 2, 3}); parameter Mode mode = Mode.on;
    Capacitor extra(C = 2) if mode == Mode.on; Sender s;
    Real table[Mode] = {1, 2}; discrete Real count(start = 0); Real w;
  equation
    connect(v1.p, valve.a); connect(valve.b, v2.p);
    when sample(0, 0.1) then count = pre(count) + 1; end when;
    if mode == Mode.on then w = table[Mode.on]; else w = 0; end if;
  algorithm
    assert(w > -1, "w is " + String(w));
  end Top;
end P;
"""
_TOKEN = re.compile(r'"[^"]*"|[A-Za-z_]\w*|\d+\.?\d*(?:[eE][-+]?\d+)?|:=|<=|>=|==|<>|\s+|.', re.S)
_WORDS = [
    "redeclare",
    "replaceable",
    "extends",
    "constrainedby",
    "each",
    "final",
    "inner",
    "outer",
    "flow",
    "stream",
    "input",
    "output",
    "parameter",
    "constant",
    "connector",
    "expandable",
    "record",
    "package",
    "function",
    "model",
    "block",
    "partial",
    "break",
    "if",
    "for",
    "in",
    "loop",
    "then",
    "else",
    "end",
    "when",
    "equation",
    "algorithm",
    "initial",
    "protected",
    "import",
    "connect",
    "der",
    "pre",
    "Real",
    "Integer",
    "Boolean",
    "String",
    "time",
    "inStream",
    "actualStream",
    "size",
    "fill",
    "sum",
    "Connections.root",
    "1:0",
    "{}",
    "-1",
    "0",
    "1e9",
    ":",
]
_SIGNS = (*"+-*/^()[]{}=;,.:<>", ":=", "==")


def injured_classes(seed: int) -> tuple[str, str]:
    """A text with one to three injuries, and the class to load."""
    chance = random.Random(f"classes {seed}")
    tokens = _TOKEN.findall(LIBRARY)
    for _ in range(chance.randint(1, 3)):
        _injure(tokens, chance)
    return "".join(tokens), chance.choice(["P.Top", "P.Top", "P.Circuit", "P.Volume", "P.Gain"])


def _injure(tokens: list[str], chance: random.Random) -> None:
    places = [k for k, t in enumerate(tokens) if t.strip()]
    names = [k for k in places if tokens[k][0].isalpha() and tokens[k] not in KEYWORDS]
    k, other = chance.choice(places), chance.choice(places)
    match chance.randrange(16):
        case 0:
            tokens[k] = ""
        case 1:
            tokens[k] += f" {tokens[k]}"
        case 2:
            tokens[k] = chance.choice(_WORDS)
        case 3:
            tokens[k] = chance.choice(_SIGNS)
        case 4:
            tokens[k], tokens[other] = tokens[other], tokens[k]
        case 5 | 6:
            numbers = [k for k in places if tokens[k][0].isdigit()]
            tokens[chance.choice(numbers)] = chance.choice(
                ["0", "1", "3", "-1", "0.5", "n", "{1, 2}"]
            )
        case _:  # one name in the place of another: what a parser does not see
            tokens[chance.choice(names)] = tokens[chance.choice(names)]
