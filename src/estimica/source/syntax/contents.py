"""What a reader sees in a file at a glance: its classes by name, and how long to simulate them."""

from __future__ import annotations

from collections.abc import Iterator

from estimica.flat.system import Experiment
from estimica.source.syntax import tree

_SIMULATED = frozenset(["model", "block", "class"])


def classes_of(file: tree.File) -> Iterator[tuple[str, tree.ClassDefinition]]:
    """All classes, an outer one before those in it, with their dotted names within the file."""
    left = [(c.name, c) for c in reversed(file.classes)]
    while left:
        name, definition = left.pop()
        yield name, definition
        if definition.body is not None:
            left += [(f"{name}.{c.name}", c) for c in reversed(definition.body.classes)]


def class_of(file: tree.File, name: str) -> tree.ClassDefinition | None:
    """The class of that dotted name within the file; only what is on the way to it is read."""
    classes = file.classes
    found: tree.ClassDefinition | None = None
    for part in parts_of(name):
        found = next((c for c in classes if c.name == part), None)
        if found is None:
            return None
        classes = found.body.classes if found.body is not None else ()
    return found


def parts_of(name: str) -> list[str]:
    """The identifiers of a dotted name; a quoted one may have dots in it."""
    parts: list[str] = []
    for piece in name.split("."):
        # An odd number of quotes: the name in quotes is not yet at its end.
        if parts and parts[-1].startswith("'") and parts[-1].count("'") % 2:
            parts[-1] += f".{piece}"
        else:
            parts.append(piece)
    return parts


def models_of(file: tree.File) -> list[str]:
    """The dotted names of classes that can be simulated, innermost included."""
    return [n for n, c in classes_of(file) if c.word in _SIMULATED and not c.partial]


def experiment_of(definition: tree.ClassDefinition) -> Experiment:
    """The experiment annotation of a class, empty where it has none."""
    values = {
        argument.path[-1]: number_of(argument.modification.value)
        for argument in annotated(definition, "experiment").arguments
        if isinstance(argument, tree.Modifier)
    }
    return Experiment(
        start=values.get("StartTime") or 0.0,
        stop=values.get("StopTime"),
        tolerance=values.get("Tolerance"),
        interval=values.get("Interval"),
    )


def annotated(definition: tree.ClassDefinition, name: str) -> tree.Modification:
    """What a class's annotation says of `name`; an empty modification where it says nothing."""
    body = definition.body
    annotation = definition.annotation if body is None else body.annotation
    if annotation is not None:
        for argument in annotation.read().arguments:
            if isinstance(argument, tree.Modifier) and argument.path == (name,):
                return argument.modification
    return tree.Modification()


def number_of(value: tree.Expression | None) -> float | None:
    """The value of an expression of numbers only, such as -1 or 2*3600; None for any other."""
    if isinstance(value, tree.Number):
        return value.value
    if isinstance(value, tree.Unary):
        operand = number_of(value.operand)
        if operand is None or value.op == "not":
            return None
        return -operand if "-" in value.op else operand
    if not isinstance(value, tree.Binary):
        return None
    left, right = number_of(value.left), number_of(value.right)
    if left is None or right is None:
        return None
    if value.op == "+":
        return left + right
    if value.op == "-":
        return left - right
    if value.op == "*":
        return left * right
    return left / right if value.op == "/" and right else None
