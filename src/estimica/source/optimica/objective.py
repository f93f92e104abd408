"""Objective: residuals and noise variances of an integrand Σ v²/r + log(r), read from its tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from estimica.base.errors import StudyError
from estimica.source.optimica.text import Head
from estimica.source.syntax import tree
from estimica.source.syntax.contents import number_of
from estimica.source.syntax.tokens import place


@dataclass(frozen=True)
class Residual:
    """A simulated variable, the input that holds what was measured of it, and its variance."""

    simulated: str
    measured: str
    variable: str = ""  # that is declared for the difference
    variance: str = ""  # the parameter that it is divided by
    factor: float = 1.0  # that its square is multiplied by


@dataclass(frozen=True)
class Objective:
    """What the integrand says of data and noise, and which equations only serve it."""

    residuals: tuple[Residual, ...] = ()
    variances: frozenset[str] = frozenset()
    likelihood: bool = False
    equations: tuple[tree.Equality, ...] = ()
    notes: tuple[str, ...] = field(default=())


def read_objective(
    written: tree.Expression | None, body: tree.Body, head: Head, source: tree.Source
) -> Objective:
    """Residuals of the integrand; where none is written, differences to inputs are residuals."""
    inputs = {c.name for c in body.components if c.causality == "input"}
    differences = dict(_differences(body, inputs))
    if written is None:
        notes = ("no objective is written: every output of the study counts alike",)
        found = tuple(r for _, r in differences.values())
        return Objective(found, equations=tuple(e for e, _ in differences.values()), notes=notes)
    parameters = {c.name for c in body.components if c.variability == "parameter"}
    reader = _Reader(differences, inputs, parameters, head, source)
    for term in _terms(written):
        reader.term(term)
    used = {r.variable for r in reader.residuals if r.variable}
    return Objective(
        tuple(reader.residuals),
        frozenset(r.variance for r in reader.residuals if r.variance) | frozenset(reader.logs),
        bool(reader.logs),
        tuple(e for name, (e, _) in differences.items() if name in used),
    )


def _differences(
    body: tree.Body, inputs: set[str]
) -> Iterator[tuple[str, tuple[tree.Equality, Residual]]]:
    """Equations v = simulated − measured, by v."""
    own = {c.name for c in body.components if not c.causality and not c.variability}
    for section in body.sections:
        for e in section.body:
            if not isinstance(e, tree.Equality) or section.initial:
                continue
            for name, other in ((e.left, e.right), (e.right, e.left)):
                pair = _difference(other, inputs)
                if isinstance(name, tree.Reference) and name.text in own and pair:
                    yield name.text, (e, Residual(*pair, variable=name.text))
                    break


def _difference(e: tree.Expression, inputs: set[str]) -> tuple[str, str] | None:
    """(simulated, measured) of a − b, one of which is an input of the class."""
    if not isinstance(e, tree.Binary) or e.op != "-":
        return None
    if not (isinstance(e.left, tree.Reference) and isinstance(e.right, tree.Reference)):
        return None
    a, b = e.left.text, e.right.text
    if (a in inputs) == (b in inputs):
        return None
    return (b, a) if a in inputs else (a, b)


def _terms(e: tree.Expression) -> Iterator[tree.Expression]:
    if isinstance(e, tree.Binary) and e.op == "+":
        yield from _terms(e.left)
        yield from _terms(e.right)
    else:
        yield e


def _factors(e: tree.Expression, power: int = 1) -> Iterator[tuple[tree.Expression, int]]:
    """What a product is made of, with whole powers."""
    if isinstance(e, tree.Binary) and e.op in ("*", "/"):
        yield from _factors(e.left, power)
        yield from _factors(e.right, power if e.op == "*" else -power)
    elif isinstance(e, tree.Binary) and e.op == "^":
        exponent = number_of(e.right)
        if exponent is not None and exponent == int(exponent):
            yield from _factors(e.left, power * int(exponent))
        else:
            yield e, power
    else:
        yield e, power


class _Reader:
    """Reads one term of the integrand after the other."""

    def __init__(
        self,
        differences: dict[str, tuple[tree.Equality, Residual]],
        inputs: set[str],
        parameters: set[str],
        head: Head,
        source: tree.Source,
    ) -> None:
        self.differences, self.inputs, self.parameters = differences, inputs, parameters
        self.head, self.source = head, source
        self.residuals: list[Residual] = []
        self.logs: list[str] = []

    def term(self, term: tree.Expression) -> None:
        if isinstance(term, tree.Call) and term.function.text == "log":
            for factor, power in _factors(term.arguments[0]):
                if not (isinstance(factor, tree.Reference) and power == 1):
                    self.refuse()
                assert isinstance(factor, tree.Reference)
                self.logs.append(factor.text)
            return
        residual: Residual | None = None
        variance, number = "", 1.0
        for factor, power in _factors(term):
            value = number_of(factor)
            named = factor.text if isinstance(factor, tree.Reference) else ""
            if value is not None and value > 0:
                number *= value**power
            elif power == 2 and residual is None and self._residual(factor) is not None:
                residual = self._residual(factor)
            elif power == -1 and named in self.parameters and not variance:
                variance = named
            else:
                self.refuse()
        if residual is None:
            self.refuse()
        assert residual is not None
        self.residuals.append(
            Residual(residual.simulated, residual.measured, residual.variable, variance, number)
        )

    def _residual(self, e: tree.Expression) -> Residual | None:
        if isinstance(e, tree.Reference) and e.text in self.differences:
            return self.differences[e.text][1]
        pair = _difference(e, self.inputs)
        return Residual(*pair) if pair else None

    def refuse(self) -> None:
        text = " ".join(self.head.text.split())
        raise StudyError(
            "Q165",
            f"{place(self.source, self.head.at)}: the objective of '{self.head.name}' is not a sum "
            "of squared residuals v^2, v^2/r and log(r), each v a simulated variable minus an "
            f"input that holds what was measured, in {text[:120]}; write it so, or leave it out, "
            'name the outputs in the study and choose criterion = "oe" or "ml"; other aims are '
            "those of a design (estimica optimise)",
        )
