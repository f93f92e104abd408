"""Expressions and functions as a table of rows: each node once, after those that it needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.function import (
    Assign,
    Break,
    Check,
    Choice,
    FlatFunction,
    Foreign,
    GivenDerivative,
    Loop,
    Return,
    Statement,
    called,
    flat_function,
)

#: the operation of a row that holds a function, not an expression
_FUNCTION = "function"


class NodeTable:
    """Numbers what it is given. A row is [operation, data of a leaf or numbers of rows]."""

    def __init__(self) -> None:
        self.rows: list[list[Any]] = []
        self._numbers: dict[Expression | FlatFunction, int] = {}

    def number(self, expression: Expression) -> int:
        """The row of an expression, added where it is new."""
        numbers = self._numbers
        known = numbers.get(expression)
        if known is not None:
            return known
        for e in ex.walk(expression, known=numbers):
            row = [numbers[a] for a in e.operands] if e.operands else list(e.args)
            if e.op == "call":
                function, output = called(e)
                row = [self._function(function), output, *(numbers[a] for a in e.operands)]
            numbers[e] = len(self.rows)
            self.rows.append([e.op, *row])
        return numbers[expression]

    def _function(self, f: FlatFunction) -> int:
        if f not in self._numbers:
            body = [self._statement(s) for s in f.body]
            given = f.derivative and [self._function(f.derivative.function), f.derivative.moving]
            self._numbers[f] = len(self.rows)
            row = [f.name, f.inputs, f.outputs, body, given, f.whole]
            self.rows.append([_FUNCTION, *row])
        return self._numbers[f]

    def _statement(self, s: Statement) -> list[Any]:
        match s:
            case Assign():
                return ["assign", s.targets, [self.number(v) for v in s.values]]
            case Choice():
                yes, no = ([self._statement(x) for x in side] for side in (s.yes, s.no))
                return ["choice", self.number(s.condition), yes, no]
            case Loop():
                return ["loop", self.number(s.condition), [self._statement(x) for x in s.body]]
            case Break():
                return ["break"]
            case Return():
                return ["return"]
            case Check():
                return ["check", self.number(s.condition), s.message]
            case Foreign():
                return ["foreign", s.twin, s.targets, [self.number(a) for a in s.arguments]]


def read_nodes(rows: Iterable[list[Any]]) -> list[Any]:
    """What the rows of a table hold: expressions, and functions where a row is one."""
    nodes: list[Any] = []
    node, leaves = ex.node, ex.LEAVES
    for row in rows:
        op = row[0]
        if op in leaves:
            nodes.append(node(op, *row[1:]))
        elif op == _FUNCTION:
            nodes.append(_read_function(row, nodes))
        elif op == "call":
            nodes.append(node(op, nodes[row[1]], row[2], *[nodes[k] for k in row[3:]]))
        else:
            nodes.append(ex.shared(op, tuple([nodes[k] for k in row[1:]])))
    return nodes


def _read_function(row: list[Any], nodes: Sequence[Any]) -> FlatFunction:
    _, name, inputs, outputs, body, given, whole = row
    derivative = given and GivenDerivative(nodes[given[0]], tuple(given[1]))
    return flat_function(
        name,
        inputs,
        outputs,
        [_read_statement(s, nodes) for s in body],
        derivative,
        whole,
    )


def _read_statement(row: list[Any], nodes: Sequence[Any]) -> Statement:
    def inner(rows: list[list[Any]]) -> tuple[Statement, ...]:
        return tuple(_read_statement(s, nodes) for s in rows)

    match row:
        case ["assign", targets, values]:
            return Assign(tuple(targets), tuple(nodes[v] for v in values))
        case ["choice", condition, yes, no]:
            return Choice(nodes[condition], inner(yes), inner(no))
        case ["loop", condition, body]:
            return Loop(nodes[condition], inner(body))
        case ["break"]:
            return Break()
        case ["return"]:
            return Return()
        case ["check", condition, message]:
            return Check(nodes[condition], message)
        case ["foreign", twin, targets, arguments]:
            return Foreign(twin, tuple(targets), tuple(nodes[a] for a in arguments))
    raise ValueError(f"no statement: {row!r:.60}")
