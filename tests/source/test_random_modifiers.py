"""Random classes with modifiers and redeclarations: the values of a small instantiation."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import estimica as es

Modifiers = dict[str, Any]  # numbers, inner modifiers; "!L" names the class put in the place of L
LEAF = "model L0 parameter Real a = 1; parameter Real b = 10; Real y = a + 100*b; end L0;"


def merged(outer: Modifiers, inner: Modifiers) -> Modifiers:
    """Outer modifiers win over inner ones."""
    found = dict(inner)
    for name, value in outer.items():
        both = isinstance(value, dict) and isinstance(found.get(name), dict)
        found[name] = merged(value, found[name]) if both else value
    return found


def written(modifiers: Modifiers) -> str:
    parts = []
    for name, value in modifiers.items():
        if name == "!L":
            parts.append(f"redeclare replaceable model L = {value}")
        elif isinstance(value, dict):
            parts.append(f"{name}{written(value)}")
        else:
            parts.append(f"{name} = {value}")
    return f"({', '.join(parts)})" if parts else ""


@dataclass
class Program:
    """Leaf classes L0…, hosts with a leaf `l` of a replaceable class and a leaf `k`, derived ones."""

    chance: random.Random
    leaves: list[str] = field(default_factory=lambda: ["L0"])
    hosts: list[str] = field(default_factory=list)
    bases: dict[str, tuple[str, Modifiers]] = field(default_factory=dict)
    parts: dict[str, dict[str, tuple[str, Modifiers]]] = field(default_factory=dict)
    replaceable: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=lambda: [LEAF])
    wanted: dict[str, float] = field(default_factory=dict)

    def build(self) -> str:
        for k in range(1, self.chance.randint(2, 4)):
            self.derive(f"L{k}", self.leaves, self.of_leaf())
        self.host()
        for k in range(self.chance.randint(1, 3)):
            self.derive(f"X{k}", self.hosts, self.of_host())
        inner, modifiers = self.chance.choice(self.hosts), self.of_host()
        self.parts["O"] = {"h": (inner, modifiers)}
        self.lines.append(f"model O {inner} h{written(modifiers)}; end O;")
        top = {
            "p": (self.chance.choice(self.hosts), self.of_host()),
            "o": ("O", {"h": self.of_host(redeclare=False)}),
            "q": (self.chance.choice(self.leaves), self.of_leaf()),
        }
        body = " ".join(f"{c} {n}{written(m)};" for n, (c, m) in top.items())
        for name, (kind, modifiers) in top.items():
            self.instance(kind, modifiers, name)
        if self.chance.random() < 0.4:
            base, modifiers = self.chance.choice(self.hosts), self.of_host()
            body += f" extends {base}{written(modifiers)};"
            self.instance(base, modifiers, "")
        self.lines.append(f"model M {body} Real x(start = 0, fixed = true); equation der(x) = 1;")
        return "\n".join(["package P", *self.lines, "end M;", "end P;"])

    def of_leaf(self) -> Modifiers:
        return {n: self.chance.randint(2, 99) for n in "ab" if self.chance.random() < 0.5}

    def of_host(self, redeclare: bool = True) -> Modifiers:
        found: Modifiers = {}
        if redeclare and self.chance.random() < 0.4:
            found["!L"] = self.chance.choice(self.leaves)
        return found | {n: m for n in "lk" if (m := self.of_leaf())}

    def derive(self, name: str, kinds: list[str], modifiers: Modifiers) -> None:
        base = self.chance.choice(kinds)
        self.bases[name] = base, modifiers
        clause = f"{base}{written(modifiers)};"
        short = self.chance.random() < 0.5
        self.lines.append(
            f"model {name} = {clause}" if short else f"model {name} extends {clause} end {name};"
        )
        kinds.append(name)

    def host(self) -> None:
        kinds = self.chance.choices(self.leaves, k=2)
        mine, other = self.of_leaf(), self.of_leaf()
        self.parts["H"] = {"l": ("L", mine), "k": (kinds[1], other)}
        self.replaceable["H"] = kinds[0]
        self.lines.append(
            f"model H replaceable model L = {kinds[0]} constrainedby L0; "
            f"L l{written(mine)}; {kinds[1]} k{written(other)}; end H;"
        )
        self.hosts.append("H")

    def instance(self, kind: str, modifiers: Modifiers, path: str) -> None:
        """Chapter 7 of the language specification, as far as these classes need it."""
        if kind == "L0":
            self.wanted[f"{path}.y"] = modifiers.get("a", 1) + 100 * modifiers.get("b", 10)
        elif kind in self.bases:
            base, own = self.bases[kind]
            self.instance(base, merged(modifiers, own), path)
        else:
            for name, (declared, own) in self.parts[kind].items():
                type_ = declared
                if declared == "L":
                    type_ = modifiers.get("!L", self.replaceable[kind])
                inner = merged(modifiers.get(name, {}), own)
                self.instance(type_, inner, f"{path}.{name}" if path else name)


def check(seed: int) -> None:
    program = Program(random.Random(seed))
    text = program.build()
    model = es.load_model(text, "P.M")
    run = model.simulate(np.array([0.0, 1.0]), outputs=list(program.wanted))
    found = {n: float(run.value(n)[-1]) for n in program.wanted}
    assert found == pytest.approx(program.wanted), text


def test_random_modifiers_have_their_values() -> None:
    for seed in range(12):
        check(seed)


@pytest.mark.slow
def test_many_random_modifiers_have_their_values() -> None:
    for seed in range(12, 212):
        check(seed)
