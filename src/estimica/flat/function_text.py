"""Functions back as Modelica text, with the names that expressions call them by."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from estimica.flat.expression import Expression, names_in
from estimica.flat.function import (
    Assign,
    Break,
    Check,
    Choice,
    FlatFunction,
    Foreign,
    Loop,
    Return,
    Statement,
    assigned_names,
    statements,
)

Write = Callable[[Expression], str]


def called_name(function: FlatFunction, output: int) -> str:
    """What an expression calls: it can have one output only, so each has a function of its own."""
    name = re.sub(r"\W+", "_", function.name).strip("_") or "function"
    return name if len(function.outputs) == 1 else f"{name}_{output + 1}"


def write_function(
    function: FlatFunction, spell: Callable[[str], str], write: Write, truth: Write
) -> list[str]:
    """The lines of all definitions that `called_name` names."""
    lines: list[str] = []
    for output, result in enumerate(function.outputs):
        name = called_name(function, output)
        lines.append(f"function {name}")
        lines += [f"  input Real {spell(n)};" for n in function.inputs]
        lines.append(f"  output Real {spell(result)};")
        names = (*function.outputs, *assigned_names(function.body), *_helpers(function))
        inner = [n for n in names if n != result]
        lines += ["protected", *(f"  Real {spell(n)};" for n in dict.fromkeys(inner))] * bool(inner)
        lines += ["algorithm", *_body(function.body, spell, write, truth, "  ")]
        lines.append(f"end {name};")
    return lines


def _helpers(function: FlatFunction) -> list[str]:
    swaps = (s for s in statements(function.body) if isinstance(s, Assign) and _swaps(s))
    return [_new(n) for s in swaps for n in s.targets]


def _body(
    body: Iterable[Statement],
    spell: Callable[[str], str],
    write: Write,
    truth: Write,
    indent: str,
) -> Iterable[str]:
    def inner(statements: Iterable[Statement]) -> Iterable[str]:
        return _body(statements, spell, write, truth, indent + "  ")

    for s in body:
        match s:
            case Assign():
                yield from (f"{indent}{line};" for line in _assigned(s, spell, write))
            case Choice():
                yield f"{indent}if {truth(s.condition)} then"
                yield from inner(s.yes)
                if s.no:
                    yield f"{indent}else"
                    yield from inner(s.no)
                yield f"{indent}end if;"
            case Loop():
                yield f"{indent}while {truth(s.condition)} loop"
                yield from inner(s.body)
                yield f"{indent}end while;"
            case Break():
                yield f"{indent}break;"
            case Return():
                yield f"{indent}return;"
            case Check():
                message = s.message.replace("\\", "\\\\").replace('"', '\\"')
                yield f'{indent}assert({truth(s.condition)}, "{message}");'
            case Foreign():
                targets = ", ".join(map(spell, s.targets))
                yield f"{indent}({targets}) := {s.twin}({', '.join(map(write, s.arguments))});"


def _assigned(s: Assign, spell: Callable[[str], str], write: Write) -> Iterable[str]:
    """One after another; where a value needs what has its new value already, all are new first."""
    if not _swaps(s):
        for target, value in zip(s.targets, s.values, strict=True):
            yield f"{spell(target)} := {write(value)}"
        return
    for target, value in zip(s.targets, s.values, strict=True):
        yield f"{spell(_new(target))} := {write(value)}"
    for target in s.targets:
        yield f"{spell(target)} := {spell(_new(target))}"


def _swaps(s: Assign) -> bool:
    return any(
        not names_in(value).isdisjoint(s.targets[:k]) for k, value in enumerate(s.values) if k
    )


def _new(name: str) -> str:
    return f"{name} new"
