"""Forms: the fields of every table of a study file, from the types that read it.

A form knows nothing of its own: names, descriptions, limits and choices are those of the types, so
that a page, the JSON Schema and the reading of a file cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from estimica.base.errors import StudyError
from estimica.base.suggest import did_you_mean
from estimica.study.form.fields import Field, Option, all_fields, field_of_type
from estimica.study.tables.study_file import StudyFile
from estimica.study.toml.layout import Place

__all__ = ["Field", "Form", "Option", "every_field", "form_of", "option_for"]


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of one table; `options` where it may be written in several ways.

    The fields are then those of the first way that is a table.
    """

    title: str
    description: str
    fields: tuple[Field, ...]
    options: tuple[Option, ...] = ()
    pattern: tuple[str, ...] = ()

    def field(self, name: str) -> Field:
        """The field of a name."""
        for field in self.fields:
            if field.name == name:
                return field
        hint = did_you_mean(name, [f.name for f in self.fields])
        raise StudyError("Q080", f"there is no field '{name}' in '{self.title}'{hint}")


def form_of(place: Place) -> Form:
    """The form of a table, by its place or by a pattern of places, as `("case", "*", "inputs")`.

    A table with names of the user's own has no fields; the form of what such a name holds is that
    of the place with one more step.
    """
    steps = tuple("*" if isinstance(step, int) else step for step in place)
    field = _field_at(steps)
    about = field.description or (_field_at(steps[:-1]).description if steps else "")
    return Form(field.label, about, _fields(field), field.options, field.pattern)


def every_field() -> Iterator[Field]:
    """All fields of all tables, outer before inner ones."""
    return _below(_root())


def option_for(field: Field | Form, value: object) -> Option | None:
    """The option that a value is written as; a short form counts as the table that it means."""
    fitting = [o for o in field.options if o.takes(value)]
    if not fitting:
        return next((o for o in field.options if o.kind == "table"), None)
    if isinstance(value, dict):
        return max(fitting, key=lambda o: sum(f.name in value for f in o.fields))
    return fitting[0]


@cache
def _root() -> Field:
    field = field_of_type("", StudyFile, ())
    return replace(field, label="Study")


@cache
def _field_at(place: tuple[str, ...]) -> Field:
    field = _root()
    for n, step in enumerate(place):
        inner = _inside(field, step)
        if inner is None:
            where = ": ".join(place[:n]) or "a study file"
            known = [f.name for f in all_fields(field)]
            raise StudyError("Q080", f"there is no '{step}' in {where}{did_you_mean(step, known)}")
        field = inner
    return field


def _fields(field: Field) -> tuple[Field, ...]:
    tables = [o.fields for o in field.options if o.kind == "table"]
    return field.fields or (tables[0] if tables else ())


def _inside(field: Field, step: str) -> Field | None:
    for way in (field, *(o.field for o in field.options)):
        for inner in way.fields:
            if inner.name == step:
                return inner
        if way.item is not None:
            return way.item
    return None


def _below(field: Field) -> Iterator[Field]:
    seen: set[tuple[str, ...]] = set()
    for way in (field, *(o.field for o in field.options)):
        for inner in (*way.fields, *((way.item,) if way.item else ())):
            if inner.pattern not in seen:
                seen.add(inner.pattern)
                yield inner
            yield from _below(inner)
