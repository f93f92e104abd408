"""OptimicaProblem: free parameters, bounds, measured signals and noise of an optimization class."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from estimica.base.errors import StudyError
from estimica.base.suggest import did_you_mean
from estimica.source.libraries.files import read_text
from estimica.source.optimica.objective import Objective, Residual, read_objective
from estimica.source.optimica.text import (
    Head,
    blank,
    end_of_modifiers,
    frees_parameters,
    has_optimization,
    statement_around,
    translated,
)
from estimica.source.syntax import tree
from estimica.source.syntax.contents import class_of, classes_of, models_of, number_of
from estimica.source.syntax.file import parse_file
from estimica.source.syntax.tokens import place

DEEPEST = 8  # components within components that are searched for free parameters (chosen)
#: what stands in the head of a class and says something that a fit can keep
_HORIZON = ("startTime", "finalTime")
_OBJECTIVES = ("objectiveIntegrand", "objective")


@dataclass(frozen=True)
class FreeParameter:
    """`p(free = true, initialGuess = 1, min = 0, max = 2)`."""

    name: str
    start: float | None
    minimum: float = -math.inf
    maximum: float = math.inf
    nominal: float | None = None

    @property
    def begin(self) -> float:
        """Where to begin: at the guess, else between the bounds; never beyond them."""
        middle = 0.5 * (self.minimum + self.maximum)
        guess = self.start if self.start is not None else middle if math.isfinite(middle) else 1.0
        return min(max(guess, self.minimum), self.maximum)


@dataclass(frozen=True)
class OptimicaProblem:
    """What a study needs, and the model as Modelica text."""

    class_: str
    modelica: str
    free: tuple[FreeParameter, ...]
    inputs: tuple[str, ...]
    residuals: tuple[Residual, ...]
    likelihood: bool  # log of the variances is part of the objective: maximum likelihood
    variances: Mapping[str, FreeParameter]  # by name, those of the noise
    known: Mapping[str, float]  # variances that are not free
    start: float | None
    stop: float | None
    notes: tuple[str, ...] = field(default=())


def is_optimica(source: str) -> bool:
    """Whether a source is a file with an optimization class, or a model that frees parameters."""
    path = Path(source)
    if path.suffix.lower() not in (".mop", ".mo") or not path.is_file():
        return False
    if path.suffix.lower() == ".mop":
        return True
    text = read_text(path)
    return has_optimization(text) or frees_parameters(text)


def read_problem(
    path: str | Path, class_: str | None = None, *, freeing: bool = True
) -> OptimicaProblem:
    """The problem that an optimization class of a file describes; `freeing` if it must free one."""
    given = tree.Source(read_text(Path(path)), str(path))
    made = translated(given)
    file = parse_file(made.source)
    if not made.heads and frees_parameters(given.text):
        return _of_model(file, class_, given)
    head = _chosen(made.heads, class_, given)
    found = _named(file, head)
    assert found is not None
    name, definition = found
    body = definition.body
    assert body is not None
    start, stop = _horizon(head, given)
    objective = _objective(head, body, given)
    letters = list(made.source.text)
    _take_out(letters, made.source, body, objective, given)
    free = {p.name: p for p in _free_parameters(file, definition, "", 0)}
    noise = {n: free.pop(n) for n in list(free) if n in objective.variances}
    known = {c.name: _value(c) for c in body.components if c.name in objective.variances}
    if freeing and not free and not noise:
        raise StudyError(
            "Q162",
            f"optimization '{head.name}' frees no parameter; write free = true for those to be "
            "found, as in parameter Real T(free = true, initialGuess = 250, min = 10, max = 500)",
        )
    measured = {r.measured for r in objective.residuals}
    inputs = tuple(c.name for c in body.components if c.causality == "input")
    return OptimicaProblem(
        class_=name,
        modelica=_with_values("".join(letters), made.source, body, free),
        free=tuple(free.values()),
        inputs=tuple(n for n in inputs if n not in measured),
        residuals=objective.residuals,
        likelihood=objective.likelihood,
        variances=noise,
        known={n: v for n, v in known.items() if v is not None and n not in noise},
        start=start,
        stop=stop,
        notes=objective.notes,
    )


def _of_model(file: tree.File, class_: str | None, source: tree.Source) -> OptimicaProblem:
    """A model whose parameters say themselves that they are free; it is taken as it stands."""
    prefix = f"{'.'.join(file.within)}." if file.within else ""
    names = [n for n in models_of(file) if class_ in (None, n, f"{prefix}{n}")]
    freeing = []
    for name in names:
        definition = class_of(file, name)
        assert definition is not None
        free = tuple(_free_parameters(file, definition, "", 0))
        if free:
            freeing.append((name, definition, free))
    if not freeing:
        hint = did_you_mean(class_ or "", models_of(file))
        raise StudyError("Q163", f"{source.label}: no model '{class_}' frees a parameter{hint}")
    if len(freeing) > 1:
        listed = ", ".join(n for n, _, _ in freeing)
        raise StudyError("Q163", f"{source.label} frees parameters in {listed}; name one of them")
    name, definition, free = freeing[0]
    body = definition.body
    assert body is not None
    inputs = tuple(c.name for c in body.components if c.causality == "input")
    variables = [c.name for c in body.components if not c.variability and c.causality != "input"]
    return OptimicaProblem(
        class_=f"{prefix}{name}",
        modelica="",
        free=free,
        inputs=inputs,
        residuals=tuple(Residual(n, n) for n in variables),
        likelihood=False,
        variances={},
        known={},
        start=None,
        stop=None,
    )


def _chosen(heads: tuple[Head, ...], class_: str | None, source: tree.Source) -> Head:
    names = [h.name for h in heads]
    if not heads:
        raise StudyError("Q163", f"{source.label}: there is no optimization class in it")
    if class_ is None and len(heads) > 1:
        raise StudyError(
            "Q163", f"{source.label} has optimizations {', '.join(names)}; name one of them"
        )
    wanted = names[0] if class_ is None else class_.rpartition(".")[2]
    if wanted not in names:
        hint = did_you_mean(wanted, names) or f" (there are {', '.join(names)})"
        raise StudyError("Q163", f"{source.label} has no optimization '{class_}'{hint}")
    return heads[names.index(wanted)]


def _named(file: tree.File, head: Head) -> tuple[str, tree.ClassDefinition] | None:
    prefix = f"{'.'.join(file.within)}." if file.within else ""
    for name, definition in classes_of(file):
        if definition.name == head.name:
            return f"{prefix}{name}", definition
    return None


def _horizon(head: Head, source: tree.Source) -> tuple[float | None, float | None]:
    """Start and end of the data; what a horizon cannot be here is refused."""
    values: dict[str, float | None] = {}
    for argument in head.arguments.arguments:
        if not isinstance(argument, tree.Modifier):
            continue
        name = argument.path[0]
        where = place(source, head.at)
        if name in _HORIZON:
            value = number_of(argument.modification.value)
            if argument.modification.arguments or value is None:
                raise StudyError(
                    "Q164",
                    f"{where}: {name} of '{head.name}' is not a number; the horizon of a fit is "
                    "that of its data: write a number, or leave it out. A free time is a matter of "
                    "optimal control, which Estimica does not do",
                )
            values[name] = value
        elif name not in _OBJECTIVES:
            raise StudyError(
                "Q164",
                f"{where}: '{name}' of '{head.name}' has no meaning in a fit"
                f"{did_you_mean(name, [*_HORIZON, *_OBJECTIVES])}; leave it out",
            )
    return values.get("startTime"), values.get("finalTime")


def _objective(head: Head, body: tree.Body, source: tree.Source) -> Objective:
    given = {
        a.path[0]: a.modification.value
        for a in head.arguments.arguments
        if isinstance(a, tree.Modifier) and a.path[0] in _OBJECTIVES
    }
    written = given.get("objectiveIntegrand")
    if given.get("objective") is not None:
        raise StudyError(
            "Q165",
            f"{place(source, head.at)}: objective of '{head.name}' is a value at single times; a "
            "fit minimises sums over its samples: write objectiveIntegrand = v1^2 + v2^2 with "
            "residuals v1 = y1_model - y1, or leave it out and name the outputs in the study",
        )
    return read_objective(written, body, head, source)


def _take_out(
    letters: list[str],
    source: tree.Source,
    body: tree.Body,
    objective: Objective,
    given: tree.Source,
) -> None:
    """Blanks residuals, their equations, measured inputs and variances of the noise."""
    for equation in objective.equations:
        end = source.text.index(";", equation.end - 1)
        blank(letters, equation.at, end + 1)
    gone = {r.variable for r in objective.residuals if r.variable}
    gone |= {r.measured for r in objective.residuals} | set(objective.variances)
    spans: dict[tuple[int, int], list[tree.Component]] = {}
    for component in body.components:
        spans.setdefault(statement_around(source, component.at), []).append(component)
    for (begin, end), together in spans.items():
        leaving = [c.name for c in together if c.name in gone]
        staying = [c.name for c in together if c.name not in gone]
        if leaving and staying:
            raise StudyError(
                "Q166",
                f"{place(given, begin)}: '{leaving[0]}' is measured and '{staying[0]}' is not, but "
                "one declaration makes both; write two",
            )
        if leaving:
            blank(letters, begin, end)


def _with_values(
    text: str, source: tree.Source, body: tree.Body, free: Mapping[str, FreeParameter]
) -> str:
    """The text with the guesses as values of free parameters that have none: a model needs one."""
    valueless = [
        c
        for c in body.components
        if c.name in free and (c.modification is None or c.modification.value is None)
    ]
    for component in sorted(valueless, key=lambda c: -c.at):
        at = end_of_modifiers(source, component.at)
        text = f"{text[:at]} = {free[component.name].begin:.17g}{text[at:]}"
    return text


def _free_parameters(
    file: tree.File, definition: tree.ClassDefinition, prefix: str, depth: int
) -> Iterator[FreeParameter]:
    """Of a class and, with dots, of its components and bases, as far as the file has them."""
    body = definition.body
    if body is None or depth > DEEPEST:
        return
    for base in body.extends:
        yield from _of_part(file, base.type.text, base.modification, prefix, depth)
    for component in body.components:
        name = f"{prefix}{component.name}"
        if component.type.text in ("Real", "Integer", "Boolean", "String"):
            yield from _told_free(name, component.modification)
        else:
            yield from _of_part(
                file, component.type.text, component.modification, f"{name}.", depth
            )


def _of_part(
    file: tree.File,
    type_: str,
    modification: tree.Modification | None,
    prefix: str,
    depth: int,
) -> Iterator[FreeParameter]:
    written: dict[str, tree.Modification] = {}
    for argument in modification.arguments if modification else ():
        if isinstance(argument, tree.Modifier):
            written[".".join(argument.path)] = argument.modification
    own = class_of(file, type_)
    inside = {p.name: p for p in _free_parameters(file, own, "", depth + 1)} if own else {}
    for name, one in written.items():
        told = next(iter(_told_free(name, one)), None)
        if told is not None:
            before = inside.get(name)
            inside[name] = _merged(before, told) if before else told
        elif one.value is not None or _says(one, "free") is False:
            inside.pop(name, None)  # bound from outside, or held
    for parameter in inside.values():
        yield replace(parameter, name=f"{prefix}{parameter.name}")


def _merged(inner: FreeParameter, outer: FreeParameter) -> FreeParameter:
    return FreeParameter(
        outer.name,
        inner.start if outer.start is None else outer.start,
        outer.minimum if math.isfinite(outer.minimum) else inner.minimum,
        outer.maximum if math.isfinite(outer.maximum) else inner.maximum,
        inner.nominal if outer.nominal is None else outer.nominal,
    )


def _told_free(name: str, modification: tree.Modification | None) -> Iterator[FreeParameter]:
    if modification is None or _says(modification, "free") is not True:
        return
    low, high = _number(modification, "min"), _number(modification, "max")
    guess = _number(modification, "initialGuess")
    start = guess if guess is not None else number_of(modification.value)
    yield FreeParameter(
        name,
        start,
        -math.inf if low is None else low,
        math.inf if high is None else high,
        _number(modification, "nominal"),
    )


def _attribute(modification: tree.Modification, name: str) -> tree.Expression | None:
    for argument in modification.arguments:
        if isinstance(argument, tree.Modifier) and argument.path == (name,):
            return argument.modification.value
    return None


def _says(modification: tree.Modification, name: str) -> bool | None:
    value = _attribute(modification, name)
    return value.value if isinstance(value, tree.Truth) else None


def _number(modification: tree.Modification, name: str) -> float | None:
    return number_of(_attribute(modification, name))


def _value(component: tree.Component) -> float | None:
    return number_of(component.modification.value) if component.modification else None
