"""A sorted system to and from JSON, beside the flat system that it came from.

Nothing in an archive is ever executed: what is read back are dataclasses of a fixed list, built
from tables in which every node, origin, variable and equation stands once. Variables and equations
of the flat system are not written again: they have the first numbers of their tables.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple
from typing import Any, TypeVar

from estimica.flat.expression import Expression
from estimica.flat.node_table import NodeTable, read_nodes
from estimica.flat.system import (
    Action,
    Assertion,
    Branch,
    Equation,
    Experiment,
    FlatSystem,
    Kind,
    Origin,
    StateSelect,
    Variability,
    Variable,
    When,
)
from estimica.structure.sorted_system import (
    Assignment,
    Block,
    Delay,
    Reinit,
    Relation,
    SortedSystem,
)

#: raised whenever the format changes
FORMAT = 1
T = TypeVar("T")


def to_archive(original: FlatSystem, turned: FlatSystem, system: SortedSystem) -> str:
    """What sorting `original` gave: the system with its causality, and sorted."""
    w = _Writer(original)
    numbers = [w.flat(turned), w.flat(system.flat)]
    tables = {
        "format": FORMAT,
        "flats": numbers,
        "system": w.system(system),
        "flat table": w.flats,
        "nodes": w.nodes.rows,
        "origins": w.origins,
        "variables": w.variables,
        "equations": w.equations,
    }
    return json.dumps(tables, separators=(",", ":"), ensure_ascii=False)


def from_archive(text: str, original: FlatSystem) -> tuple[FlatSystem, SortedSystem]:
    """What `to_archive` wrote; ValueError, KeyError or the like where it is none of its own."""
    content = json.loads(text)
    if content["format"] != FORMAT:
        raise ValueError(f"format {content['format']}, not {FORMAT}")
    r = _Reader(content, original)
    turned, inner = (r.flats[k] for k in content["flats"])
    return turned, r.system(content["system"], inner)


class _Writer:
    """Numbers what it meets; things that are the same object are written once."""

    def __init__(self, original: FlatSystem) -> None:
        self.nodes = NodeTable()
        self.origins: list[Any] = []
        self.variables: list[list[Any]] = []
        self.equations: list[list[int]] = []
        self.flats: list[list[Any]] = []
        self._origin_numbers: dict[Origin, int] = {}
        # by identity; the systems outlive this writer
        self._known = (len(original.variables), len(_all_equations(original)), 1)
        self._numbers = {id(original): 0}
        self._numbers |= {id(v): k for k, v in enumerate(original.variables)}
        self._numbers |= {id(e): k for k, e in enumerate(_all_equations(original))}

    def node(self, e: Expression) -> int:
        return self.nodes.number(e)

    def maybe(self, e: Expression | None) -> int | None:
        return None if e is None else self.node(e)

    def all(self, expressions: Iterable[Expression]) -> list[int]:
        return [self.node(e) for e in expressions]

    def named(self, expressions: Mapping[str, Expression]) -> dict[str, int]:
        return {n: self.node(e) for n, e in expressions.items()}

    def origin(self, o: Origin) -> int:
        if o not in self._origin_numbers:
            self._origin_numbers[o] = len(self.origins)
            self.origins.append(astuple(o))
        return self._origin_numbers[o]

    def variable(self, v: Variable) -> int:
        return self._once(v, self.variables, self._known[0], self._variable_row)

    def equation(self, e: Equation) -> int:
        return self._once(e, self.equations, self._known[1], self._equation_row)

    def flat(self, s: FlatSystem) -> int:
        return self._once(s, self.flats, self._known[2], self._flat_row)

    def _once(self, thing: T, table: list[Any], first: int, row: Callable[[T], Any]) -> int:
        number = self._numbers.get(id(thing))
        if number is None:
            content = row(thing)
            number = self._numbers[id(thing)] = first + len(table)
            table.append(content)
        return number

    def _equation_row(self, e: Equation) -> list[int]:
        return [self.node(e.lhs), self.node(e.rhs), self.origin(e.origin)]

    def _variable_row(self, v: Variable) -> list[Any]:
        return [
            v.name, v.kind.value, v.variability.value, v.causality, self.maybe(v.binding),
            self.maybe(v.start), v.fixed, self.maybe(v.minimum), self.maybe(v.maximum),
            self.maybe(v.nominal), v.unit, v.display_unit, v.quantity, v.description,
            v.state_select.value, v.literals, v.text, v.protected, v.final, v.flow, v.evaluated,
            self.origin(v.origin),
        ]  # fmt: skip

    def _flat_row(self, s: FlatSystem) -> list[Any]:
        return [
            s.name,
            [self.variable(v) for v in s.variables],
            [self.equation(e) for e in s.equations],
            [self.equation(e) for e in s.initial_equations],
            [self._when(w) for w in s.whens],
            [self._assertion(a) for a in s.assertions],
            s.description,
            astuple(s.experiment),
            s.notes,
            s.source,
            s.of_function,
        ]

    def _when(self, w: When) -> list[Any]:
        branches = [
            [
                self.all(b.conditions),
                [
                    [a.target, self.node(a.value), a.reinit, self.origin(a.origin)]
                    for a in b.actions
                ],
            ]
            for b in w.branches
        ]
        return [branches, self.origin(w.origin)]

    def _assertion(self, a: Assertion) -> list[Any]:
        origin = self.origin(a.origin)
        return [self.node(a.condition), a.message, a.warning, origin, a.terminates]

    def _assignment(self, a: Assignment) -> list[Any]:
        return [a.unknown, self.node(a.value), self.origin(a.origin)]

    def _block(self, b: Assignment | Block) -> list[Any]:
        if isinstance(b, Assignment):
            return self._assignment(b)
        inner = [self._assignment(a) for a in b.inner]
        origins = [self.origin(o) for o in b.origins]
        return [b.torn, inner, self.all(b.residuals), b.linear, origins, b.regular]

    def _relation(self, r: Relation) -> list[Any]:
        where = self.origin(r.origin)
        return [self.node(r.difference), r.strict, self.maybe(r.instant), r.until, where]

    def system(self, s: SortedSystem) -> dict[str, Any]:
        return {
            "parameters": s.parameters,
            "bindings": self.named(s.bindings),
            "free_parameters": s.free_parameters,
            "inputs": s.inputs,
            "states": s.states,
            "memories": s.memories,
            "logicals": s.logicals,
            "relations": [self._relation(r) for r in s.relations],
            "blocks": [self._block(b) for b in s.blocks],
            "constraints": [self.equation(e) for e in s.constraints],
            "aliases": self.named(s.aliases),
            "logical_equations": [self._assignment(a) for a in s.logical_equations],
            "memory_equations": [self._assignment(a) for a in s.memory_equations],
            "reinits": [
                [r.state, self.node(r.fired), self.node(r.value), self.origin(r.origin)]
                for r in s.reinits
            ],
            "delays": [
                [d.name, self.node(d.expression), self.node(d.duration), self.origin(d.origin)]
                for d in s.delays
            ],
            "initial_equations": [self.equation(e) for e in s.initial_equations],
            "starts": self.named(s.starts),
            "fixed": sorted(s.fixed),
            "assertions": [self._assertion(a) for a in s.assertions],
            "notes": s.notes,
        }  # fmt: skip


def _all_equations(flat: FlatSystem) -> tuple[Equation, ...]:
    return flat.equations + flat.initial_equations


_KINDS = {k.value: k for k in Kind}
_VARIABILITIES = {v.value: v for v in Variability}
_SELECTIONS = {s.value: s for s in StateSelect}


class _Reader:
    """Builds the tables first, then everything that refers to them."""

    def __init__(self, content: Mapping[str, Any], original: FlatSystem) -> None:
        self.origins = [Origin(*row) for row in content["origins"]]
        self.nodes = read_nodes(content["nodes"])
        self.variables = [*original.variables, *map(self._variable, content["variables"])]
        nodes, origins = self.nodes, self.origins
        self.equations = [
            *_all_equations(original),
            *(Equation(nodes[a], nodes[b], origins[o]) for a, b, o in content["equations"]),
        ]
        self.flats = [original, *map(self._flat, content["flat table"])]

    def maybe(self, number: int | None) -> Expression | None:
        return None if number is None else self.nodes[number]

    def all(self, numbers: Iterable[int]) -> tuple[Expression, ...]:
        return tuple([self.nodes[k] for k in numbers])

    def named(self, numbers: Mapping[str, int]) -> dict[str, Expression]:
        return {n: self.nodes[k] for n, k in numbers.items()}

    def _variable(self, row: list[Any]) -> Variable:
        (
            name, kind, variability, causality, binding, start, fixed, minimum, maximum, nominal,
            unit, display, quantity, description, select, literals, text, protected, final, flow,
            evaluated, origin,
        ) = row  # fmt: skip
        maybe = self.maybe
        return Variable(
            name, _KINDS[kind], _VARIABILITIES[variability], causality, maybe(binding),
            maybe(start), fixed, maybe(minimum), maybe(maximum), maybe(nominal), unit, display,
            quantity, description, _SELECTIONS[select], tuple(literals), text, protected, final,
            flow, evaluated, self.origins[origin],
        )  # fmt: skip

    def _flat(self, row: list[Any]) -> FlatSystem:
        name, variables, equations, initial, whens, assertions, *rest = row
        description, experiment, notes, source, of_function = rest
        return FlatSystem(
            name=name,
            variables=tuple([self.variables[k] for k in variables]),
            equations=self._equations(equations),
            initial_equations=self._equations(initial),
            whens=tuple(self._when(w) for w in whens),
            assertions=tuple(self._assertion(a) for a in assertions),
            description=description,
            experiment=Experiment(*experiment),
            notes=tuple(notes),
            source=source,
            of_function=of_function,
        )

    def _equations(self, numbers: Iterable[int]) -> tuple[Equation, ...]:
        return tuple([self.equations[k] for k in numbers])

    def _when(self, row: list[Any]) -> When:
        branches, origin = row
        return When(
            tuple(
                Branch(
                    self.all(conditions),
                    tuple(Action(t, self.nodes[v], r, self.origins[o]) for t, v, r, o in actions),
                )
                for conditions, actions in branches
            ),
            self.origins[origin],
        )

    def _assertion(self, row: list[Any]) -> Assertion:
        condition, message, warning, origin, terminates = row
        place = self.origins[origin]
        return Assertion(self.nodes[condition], message, warning, place, terminates)

    def _assignments(self, rows: Iterable[list[Any]]) -> tuple[Assignment, ...]:
        return tuple([Assignment(u, self.nodes[v], self.origins[o]) for u, v, o in rows])

    def _block(self, row: list[Any]) -> Assignment | Block:
        if isinstance(row[0], str):
            return Assignment(row[0], self.nodes[row[1]], self.origins[row[2]])
        torn, inner, residuals, linear, origins, regular = row
        return Block(
            tuple(torn),
            self._assignments(inner),
            self.all(residuals),
            linear,
            tuple(self.origins[o] for o in origins),
            regular,
        )

    def system(self, raw: Mapping[str, Any], flat: FlatSystem) -> SortedSystem:
        nodes, origins = self.nodes, self.origins
        names = ("parameters", "free_parameters", "inputs", "states", "memories", "logicals")
        return SortedSystem(
            flat=flat,
            **{n: tuple(raw[n]) for n in names},
            bindings=self.named(raw["bindings"]),
            relations=tuple(
                Relation(nodes[d], strict, self.maybe(instant), until, origins[o])
                for d, strict, instant, until, o in raw["relations"]
            ),
            blocks=tuple([self._block(b) for b in raw["blocks"]]),
            constraints=self._equations(raw["constraints"]),
            aliases=self.named(raw["aliases"]),
            logical_equations=self._assignments(raw["logical_equations"]),
            memory_equations=self._assignments(raw["memory_equations"]),
            reinits=tuple(
                Reinit(s, nodes[f], nodes[v], origins[o]) for s, f, v, o in raw["reinits"]
            ),
            delays=tuple(Delay(n, nodes[e], nodes[d], origins[o]) for n, e, d, o in raw["delays"]),
            initial_equations=self._equations(raw["initial_equations"]),
            starts=self.named(raw["starts"]),
            fixed=frozenset(raw["fixed"]),
            assertions=tuple(self._assertion(a) for a in raw["assertions"]),
            notes=tuple(raw["notes"]),
        )
