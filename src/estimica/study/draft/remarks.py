"""Remarks on a draft: what can make a fit of it wrong, told before anything else.

A column that is not used and a parameter that is held are no errors: such a study fits well, and
its numbers may be far from the truth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from estimica.base.quantities import Quantity
from estimica.base.view import name_with_unit
from estimica.study.draft.columns import Columns
from estimica.study.draft.matching import unit_of
from estimica.study.draft.offers import Offers
from estimica.study.draft.parameters import Choice, number_of
from estimica.study.toml.write import toml_key, toml_number, toml_value

#: remarks of one kind. Chosen: what is told first must be short
MOST = 6
#: names in one remark, and lines that it points to
NAMED = 4
HEAD = "# Look at this first:"


@dataclass(frozen=True)
class Remark:
    """A sentence, and the lines of the draft that it is about: how they begin, and what to do."""

    sentence: str
    places: tuple[tuple[int, str], ...] = ()  # the case (-1: before all cases) and the beginning
    advice: str = ""  # what to do there, as "take the # away in"
    #: lines to change where there are none of these: an input that has a number now
    instead: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class Drafted:
    """The text of a study, and what is to be told about it."""

    text: str
    remarks: tuple[Remark, ...] = ()
    notes: tuple[str, ...] = ()  # remarks with the lines where they are


def with_notes(text: str, remarks: Sequence[Remark]) -> Drafted:
    """The text with the remarks below its head; its lines do not change after this."""
    lines = text.splitlines()
    head = next((k for k, line in enumerate(lines) if not line.startswith("#")), 0)
    added = len(remarks) + 2 if remarks else 0
    notes = tuple(_note(r, lines, head, added) for r in remarks)
    block = ["#", HEAD, *(f"# - {n}" for n in notes)] if notes else []
    return Drafted("\n".join([*lines[:head], *block, *lines[head:]]) + "\n", tuple(remarks), notes)


def of_columns(cases: Sequence[Columns], offers: Sequence[Offers]) -> list[Remark]:
    """Columns that belong to nothing and could, and those that were given by their unit alone."""
    found: dict[str, Remark] = {}
    for k, (c, offer) in enumerate(zip(cases, offers, strict=True)):
        quantities = {q.name: q for q in (*offer.inputs, *offer.outputs)}
        for remark in (*_unused(k, c, offer, quantities), *_by_unit(k, c, quantities)):
            before = found.get(remark.sentence)
            places = (*before.places, *remark.places) if before else remark.places
            found[remark.sentence] = replace(remark, places=places)
    return list(found.values())[:MOST]


def of_chosen_inputs(names: Sequence[str]) -> list[Remark]:
    """Inputs that the model does not declare: a component has them, or an equation is missing."""
    if not names:
        return []
    many = len(names) > 1
    listed = _listed([f"'{n}'" for n in names], "and")
    sentence = (
        f"the model has {len(names)} equation{'s' if many else ''} less than unknowns, as a "
        f"component that is connected to others: {listed} {'are' if many else 'is'} taken for "
        f"{'inputs' if many else 'an input'}; if an equation was forgotten, add it to the model"
    )
    return [Remark(sentence)]


def of_held(choice: Choice, tunable: Sequence[Quantity]) -> list[Remark]:
    """Parameters that keep their values, though others would come out differently with others."""
    groups: dict[tuple[str, ...], list[Quantity]] = {}
    for q in tunable:
        if q.name in choice.together and q.name not in choice.chosen:
            groups.setdefault(choice.together[q.name], []).append(q)
    remarks = []
    for beside, held in list(groups.items())[:MOST]:
        values = _listed([f"'{q.name}' = {_value(q)}" for q in held], "and")
        are, they = ("is", "it") if len(held) == 1 else ("are", "they")
        partners = _listed([f"'{n}'" for n in beside], "and")
        sentence = (
            f"{values} {are} held: what is measured does not tell {'it' if are == 'is' else 'them'}"
            f" from {partners}, which will be right only if {they} {are}"
        )
        places = tuple((-1, f"# {toml_key(q.name)} = ") for q in held)
        remarks.append(Remark(sentence, places, "see"))
    return remarks


def _unused(k: int, c: Columns, offer: Offers, quantities: Mapping[str, Quantity]) -> list[Remark]:
    may_be: dict[str, list[str]] = {}
    for name, near in offer.of.items():
        for match in near:
            may_be.setdefault(match.column, []).append(name)
    remarks = []
    for column, names in may_be.items():
        known = [quantities[n] for n in names if n in quantities]
        asked = _listed([_called(q) for q in known], "or")
        sentence = f"column {_of_data(c, column)} is not used: could it be {asked}?"
        places = tuple(
            (k, f"# {toml_key(q.name)} = {start}{toml_value(column)}")
            for q in known
            for start in ("", "{ column = ")
        )
        lines = tuple((k, f"{b}{toml_key(q.name)} = ") for q in known for b in ("", "# "))
        remarks.append(Remark(sentence, places, "take the # away in", lines))
    return remarks


def _by_unit(k: int, c: Columns, quantities: Mapping[str, Quantity]) -> list[Remark]:
    return [
        Remark(
            f"column {_of_data(c, m.column)} is taken for {_called(quantities[n])}, "
            "the only one that its unit fits",
            ((k, f"{toml_key(n)} = "),),
            "see",
        )
        for n, m in {**c.inputs, **c.outputs}.items()
        if m.by_unit
    ]


def _note(remark: Remark, lines: Sequence[str], head: int, added: int) -> str:
    """A remark with the numbers of its lines, where they are found."""
    found, advice = _places(remark.places, lines, head), remark.advice
    if not found:
        found, advice = _places(remark.instead, lines, head), "write it in"
    if not found:
        return remark.sentence
    where = f"{advice} line {_listed([str(k + 1 + added) for k in found], 'or')}"
    between = " " if remark.sentence.endswith("?") else "; "
    return f"{remark.sentence}{between}{where}"


def _places(wanted: Sequence[tuple[int, str]], lines: Sequence[str], head: int) -> list[int]:
    found, case = [], -1
    for k, line in enumerate(lines):
        case += line == "[[case]]"
        # columns that all cases have stand once, before them
        if k >= head and any(case in (at, -1) and line.startswith(s) for at, s in wanted):
            found.append(k)
    return found


def _of_data(c: Columns, column: str) -> str:
    return name_with_unit(f"'{column}'", unit_of(c.table.data, column))


def _called(q: Quantity) -> str:
    word = "the input " if q.role == "input" else ""
    return word + name_with_unit(f"'{q.name}'", q.unit if q.unit != "1" else "")


def _value(q: Quantity) -> str:
    value = number_of(q)
    return "…" if value is None else toml_number(value)


def _listed(names: Sequence[str], word: str) -> str:
    """As in "a, b and c"; many are cut short."""
    shown = list(names[:NAMED])
    if len(names) > NAMED:
        return f"{', '.join(shown)} {word} {len(names) - NAMED} more"
    return f" {word} ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]
