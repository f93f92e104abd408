"""The model of a Base Modelica text as a class of Modelica, and what it says in other ways."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from estimica.base.errors import SourceError
from estimica.base.suggest import did_you_mean
from estimica.source.fixed_values import FixedValue, literal
from estimica.source.instance.classes import Class
from estimica.source.instance.modifiers import Binding, Modifiers, merged
from estimica.source.syntax import tree
from estimica.source.syntax.file import parse_expression

_SUBSCRIPTED = re.compile(r"[^\[\]]*(\[\d+(,\s*\d+)*\][^\[\]]*)*")
Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BaseModel:
    """A model with its text, from which guesses and advice are taken out."""

    file: tree.File
    package: str  # that holds it, "" where none does
    definition: tree.ClassDefinition
    guesses: tuple[tuple[Path, tree.Expression], ...]  # where searches for parameters begin

    @property
    def components(self) -> tuple[tree.Component, ...]:
        """What it declares."""
        body = self.definition.body
        return body.components if body is not None else ()

    def equated(self) -> frozenset[str]:
        """The names that stand alone on the left side of an equation."""
        body = self.definition.body
        sections = [s for s in body.sections if not s.algorithm and not s.initial] if body else []
        return frozenset(
            e.left.text
            for s in sections
            for e in s.body
            if isinstance(e, tree.Equality) and isinstance(e.left, tree.Reference)
        )

    def evaluated(self) -> frozenset[str]:
        """The components whose values the writer of the text has built in."""
        return frozenset(c.name for c in self.components if _is_evaluated(c))

    def modifiers(self, fix: Mapping[str, FixedValue], scope: Class, root: Class) -> Modifiers:
        """Guesses and values of the user as modifiers; elements of arrays are left out."""
        result = Modifiers(scope=scope)
        for path, value in self.guesses:
            result = merged(_nested((*path, "start"), Binding(value, scope), scope), result)
        for name, given in fix.items():
            known = self.path_of(name)
            if known is not None:
                value = parse_expression(literal(given, None), "fix")
                result = merged(_nested(known, Binding(value, root), root), result)
        return result

    def path_of(self, name: str) -> Path | None:
        """The component and its parts that a name in the flat system means."""
        known = {c.name for c in self.components}
        parts = name.split(".")
        for k in range(len(parts), 0, -1):
            whole = ".".join(parts[:k])
            if whole in known:
                rest = tuple(parts[k:])
                return None if any("[" in p for p in rest) else (whole, *rest)
        return None


def chosen_model(file: tree.File, class_name: str | None, label: str) -> BaseModel:
    """The model that is meant: the one named, else the package's own, else the last."""
    found: dict[str, tuple[str, tree.ClassDefinition]] = {}
    main = ""
    for definition in file.classes:
        inner = definition.body.classes if definition.word == "package" and definition.body else ()
        main = definition.name if definition.word == "package" else main
        for one, package in [(definition, ""), *((c, definition.name) for c in inner)]:
            if one.word in ("model", "class", "block") and not _is_object(one):
                found[one.name] = (package, one)
    if class_name is None:
        if not found:
            raise SourceError("S208", f"{label}: the Base Modelica text holds no model")
        name = main if main in found else list(found)[-1]
    else:
        matching = [n for n in found if class_name in (n, n.rpartition(".")[2])]
        if not matching:
            hint = did_you_mean(class_name, found)
            raise SourceError("S208", f"{label}: no model '{class_name}' in the text{hint}")
        name = matching[0]
    package, definition = found[name]
    _check_names(definition, label)
    return _cleaned(file, package, definition, label)


def _is_object(definition: tree.ClassDefinition) -> bool:
    body = definition.body
    return body is not None and any(e.type.text == "ExternalObject" for e in body.extends)


def _check_names(definition: tree.ClassDefinition, label: str) -> None:
    names: set[str] = set()
    body = definition.body
    for component in body.components if body is not None else ():
        name = component.name
        if name in names:
            raise SourceError("S204", f"{label}: '{name}' is declared twice; leave one out")
        if not _SUBSCRIPTED.fullmatch(name):
            raise SourceError(
                "S206", f"{label}: the subscripts in the name '{name}' are not numbers"
            )
        names.add(name)
    for name in names:
        whole = name.rpartition(".")[0]
        while whole:
            if whole in names:
                raise SourceError(
                    "S204", f"{label}: '{whole}' is a variable; '{name}' cannot be part of it"
                )
            whole = whole.rpartition(".")[0]


def _cleaned(
    file: tree.File, package: str, definition: tree.ClassDefinition, label: str
) -> BaseModel:
    """The model without `guess(p) = value` and `prioritize(x, 1)`, which are no equations."""
    body = definition.body
    assert body is not None
    guesses: list[tuple[Path, tree.Expression]] = []
    sections = []
    for section in body.sections:
        kept = []
        for equation in section.body:
            if section.of_parameters or _is_guess(equation):
                guesses.append(_guess(equation, label))
            elif not _is_advice(equation):
                kept.append(equation)
        if not section.of_parameters:
            sections.append(replace(section, body=tuple(kept)))
    plain = replace(body, sections=tuple(sections))
    cleaned = replace(definition, read_body=lambda: plain)
    classes = tuple(_replaced(c, definition, cleaned) for c in file.classes)
    return BaseModel(replace(file, classes=classes), package, cleaned, tuple(guesses))


def _replaced(
    outer: tree.ClassDefinition, old: tree.ClassDefinition, new: tree.ClassDefinition
) -> tree.ClassDefinition:
    if outer is old:
        return new
    body = outer.body
    if body is None or old not in body.classes:
        return outer
    inner = replace(body, classes=tuple(new if c is old else c for c in body.classes))
    return replace(outer, read_body=lambda: inner)


def _is_guess(equation: tree.Equation) -> bool:
    left = equation.left if isinstance(equation, tree.Equality) else None
    return isinstance(left, tree.Call) and left.function.text == "guess"


def _is_advice(equation: tree.Equation) -> bool:
    """Whether an initial equation only says which start values come first."""
    return isinstance(equation, tree.CallEquation) and equation.call.function.text == "prioritize"


def _guess(equation: tree.Equation, label: str) -> tuple[Path, tree.Expression]:
    if isinstance(equation, tree.Equality) and isinstance(equation.left, tree.Call):
        call = equation.left
        target = call.arguments[0] if len(call.arguments) == 1 else None
        if call.function.text == "guess" and isinstance(target, tree.Reference):
            return tuple(p.name for p in target.parts), equation.right
    raise SourceError(
        "S207",
        f"{label}: 'parameter equation' needs guess(name) on its left side, the name being one of "
        "the model",
    )


def _is_evaluated(component: tree.Component) -> bool:
    annotation = component.annotation
    if annotation is None:
        return False
    return any(
        isinstance(a, tree.Modifier)
        and a.path == ("Evaluate",)
        and isinstance(a.modification.value, tree.Truth)
        and bool(a.modification.value.value)
        for a in annotation.read().arguments
    )


def _nested(path: Path, binding: Binding, scope: Class) -> Modifiers:
    result = Modifiers(binding=binding, at=binding.expression.at, scope=scope)
    for name in reversed(path):
        result = Modifiers({name: result}, at=binding.expression.at, scope=scope)
    return result
