"""Form labels: a team's own words for forms, and which fields they show, from a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass as plain_dataclass
from dataclasses import field, replace
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Annotated

from pydantic import Field as Key
from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from estimica.base.errors import StudyError
from estimica.base.files.read import read_text
from estimica.base.files.toml import TOML_LIMIT
from estimica.base.problems import Problem, raise_all
from estimica.base.suggest import did_you_mean
from estimica.study.fields.kinds import STRICT
from estimica.study.fields.messages import validation_messages
from estimica.study.form.fields import all_fields
from estimica.study.form.tables import Field, Form, Option, every_field
from estimica.study.toml.layout import parse_toml

FILE_NAME = "estimica-forms.toml"
CODE = "Q081"


@plain_dataclass(frozen=True)
class FormLabels:
    """What a team changes of the forms; places are written as `tune.*.start`."""

    labels: Mapping[str, str] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()
    only: frozenset[str] = frozenset()
    order: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, config=STRICT, kw_only=True)
class HideTable:
    """Fields that no form shows."""

    fields: Annotated[tuple[str, ...], Key(description="Fields, as `case.*.sheet`.")] = ()


@dataclass(frozen=True, config=STRICT, kw_only=True)
class ShowTable:
    """Fields that alone are shown of their tables."""

    only: Annotated[tuple[str, ...], Key(description="Fields, as `tune.*.start`.")] = ()


@dataclass(frozen=True, config=STRICT, kw_only=True)
class LabelsFile:
    """The file as it is written."""

    labels: Annotated[dict[str, str], Key(description="Field = label.")] = Key(default_factory=dict)
    hide: Annotated[HideTable, Key(description="What is left out.")] = Key(
        default_factory=HideTable
    )
    show: Annotated[ShowTable, Key(description="What alone is shown.")] = Key(
        default_factory=ShowTable
    )
    order: Annotated[
        dict[str, tuple[str, ...]], Key(description="Table = the fields that come first.")
    ] = Key(default_factory=dict)


def read_labels(folder: str | PathLike[str]) -> FormLabels:
    """The labels of a folder's `estimica-forms.toml`; none where there is no such file."""
    path = Path(folder) / FILE_NAME
    try:
        text = read_text(path, "utf-8-sig", limit=TOML_LIMIT)
    except FileNotFoundError:
        return FormLabels()
    except (OSError, UnicodeDecodeError):
        raise StudyError(CODE, f"{FILE_NAME} cannot be read as a text in UTF-8") from None
    return labels_of_text(text)


def labels_of_text(text: str) -> FormLabels:
    """The labels of such a text; everything that is wrong with it is told at once."""
    try:
        file = TypeAdapter(LabelsFile).validate_python(parse_toml(text))
    except ValidationError as error:
        raise_all(
            [Problem(CODE, FILE_NAME, c.text) for c in validation_messages(error, LabelsFile)]
        )
        raise
    except StudyError as error:
        raise StudyError(CODE, f"{FILE_NAME}: {error.message}") from None
    problems: list[Problem] = []
    labels = {p: new for name, new in file.labels.items() for p in _places(name, problems)}
    hidden = frozenset(p for name in file.hide.fields for p in _places(name, problems))
    only = frozenset(p for name in file.show.only for p in _places(name, problems))
    for place in sorted(hidden):
        if _known()[place].required:
            problems.append(_problem(f"hide: '{place}' must be given, so that it cannot be hidden"))
    order = {}
    for name, first in file.order.items():
        for place in _places(name, problems):
            order[place] = first
            problems += _unknown_fields(place, first)
    raise_all(list(dict.fromkeys(problems)))
    return FormLabels(labels, hidden, only, order)


def apply_labels(form: Form, labels: FormLabels) -> Form:
    """A form with the team's labels, without what they hide, in their order."""
    return replace(
        form,
        title=labels.labels.get(".".join(form.pattern), form.title),
        fields=_fields(form.fields, form.pattern, labels),
        options=tuple(_option(o, labels) for o in form.options),
    )


# --- names of fields -----------------------------------------------------------------------------


@cache
def _known() -> dict[str, Field]:
    return {f.place: f for f in every_field()}


def _places(name: str, problems: list[Problem]) -> list[str]:
    """The fields that a name means: itself, or all where `*` stands for any steps between."""
    if name in _known():
        return [name]
    anywhere = re.compile(re.escape(name).replace(r"\*", ".+"))
    places = [place for place in _known() if anywhere.fullmatch(place)]
    if not places:
        hint = did_you_mean(name, _known()) or "; write it as tune.*.start or case.*.inputs"
        problems.append(_problem(f"there is no field '{name}'{hint}"))
    return places


def _unknown_fields(place: str, names: Iterable[str]) -> list[Problem]:
    known = [f.name for f in all_fields(_known()[place])]
    return [
        _problem(f"order: '{place}' has no field '{name}'{did_you_mean(name, known)}")
        for name in names
        if name not in known
    ]


def _problem(message: str) -> Problem:
    return Problem(CODE, FILE_NAME, message)


# --- forms ---------------------------------------------------------------------------------------


def _fields(
    fields: tuple[Field, ...], pattern: tuple[str, ...], labels: FormLabels
) -> tuple[Field, ...]:
    """The fields of one table as the team wants them."""
    kept = [f for f in fields if f.place not in labels.hidden]
    if any(f.place in labels.only for f in kept):
        kept = [f for f in kept if f.place in labels.only or f.required]
    first = labels.order.get(".".join(pattern), ())
    rank = {name: k for k, name in enumerate(first)}
    kept.sort(key=lambda f: rank.get(f.name, len(rank)))
    return tuple(_field(f, labels) for f in kept)


def _field(one: Field, labels: FormLabels) -> Field:
    return replace(
        one,
        label=labels.labels.get(one.place, one.label),
        fields=_fields(one.fields, one.pattern, labels),
        options=tuple(_option(o, labels) for o in one.options),
        item=_field(one.item, labels) if one.item else None,
    )


def _option(option: Option, labels: FormLabels) -> Option:
    return replace(option, field=_field(option.field, labels))
