"""Formulas as models of a new study: which names are columns, which are tuners."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from estimica.base.errors import StudyError
from estimica.source.formula import Formula, parse_formula
from estimica.study.draft.columns import Table, case_names
from estimica.study.toml.write import toml_key, toml_value

LISTED = 12  # columns that a comment names; chosen: a line or two
_NAMED = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)(.*)", re.DOTALL)


def read_formulas(text: str) -> dict[str, Formula]:
    """The formulas of a text, a line each: `y = a + b*x`, or `a + b*x`, which is then called y."""
    formulas: dict[str, Formula] = {}
    for line in filter(str.strip, text.replace(";", "\n").splitlines()):
        named = _NAMED.fullmatch(line)
        name, right = (named[1], named[2].strip()) if named else ("y", line.strip())
        if name in formulas:
            raise StudyError("Q170", f"there are two formulas of '{name}'; name them, as y1 = …")
        formulas[name] = parse_formula(right, f"formula of {name}")
    if not formulas:
        raise StudyError("Q171", "there is no formula; write one, as y = a + b*x")
    return formulas


def draft_formulas(formulas: dict[str, Formula], tables: Sequence[Table]) -> str:
    """The text of a study whose model they are.

    A name that a column has is an input; the others are tuners, which start with 1.
    """
    columns = list(dict.fromkeys(n for t in tables for n in t.data.names))
    names = list(dict.fromkeys(n for f in formulas.values() for n in f.names))
    inputs = {n: c for n in names if (c := _column(n, columns)) is not None}
    if not tables:
        inputs = {n: n for n in names if n == "x"}  # as everybody calls it
    tuners = [n for n in names if n not in inputs]
    written = [(n, f.text) for n, f in formulas.items()]
    single = len(written) == 1
    inline = ", ".join(f"{toml_key(n)} = {toml_value(t)}" for n, t in written)
    lines = [
        "# A study of a formula",
        "# `estimica check` tells what is wrong with it, `estimica fit` fits it.",
        "",
        "[static]",
        f"expression = {toml_value(written[0][1]) if single else f'{{ {inline} }}'}",
        "",
        "[tune]",
        "# Names of the formula that no column has; each with a start value.",
        *(f"{toml_key(n)} = 1.0" for n in tuners),
        "",
        *(
            line
            for pair in zip(tables, case_names(tables), strict=True)
            for line in _case(*pair, inputs, list(formulas))
        ),
        *([] if tables else _no_case(inputs, list(formulas))),
    ]
    return "\n".join(lines) + "\n"


def _case(table: Table, name: str, inputs: dict[str, str], outputs: list[str]) -> Iterator[str]:
    yield "[[case]]"
    yield f"name = {toml_value(name)}"
    listed = ", ".join(table.data.names[:LISTED])
    yield f"data = {toml_value(table.path)}   # {len(table.data)} rows of {listed}"
    given = ", ".join(f"{toml_key(n)} = {toml_value(c)}" for n, c in inputs.items())
    yield f"inputs = {{ {given} }}"
    left = [c for c in table.data.names if c not in inputs.values()]
    measured = {n: c for n in outputs if (c := _column(n, left)) is not None}
    if not measured and len(outputs) == 1 and len(left) == 1:
        measured = {outputs[0]: left[0]}
    if measured:
        listed = ", ".join(f"{toml_key(n)} = {toml_value(c)}" for n, c in measured.items())
        yield f"outputs = {{ {listed} }}"
    else:
        yield f'# outputs = {{ {toml_key(outputs[0])} = "…" }}   # which column was measured'
    yield ""


def _no_case(inputs: dict[str, str], outputs: list[str]) -> list[str]:
    given = ", ".join(f'{toml_key(n)} = "…"' for n in inputs or {"x": ""})
    return [
        "# A case for each table of points: its file, and which column is what.",
        "# [[case]]",
        '# name = "points"',
        '# data = "points.csv"',
        f"# inputs = {{ {given} }}",
        f'# outputs = {{ {toml_key(outputs[0])} = "…" }}',
        "",
    ]


def _column(name: str, columns: Sequence[str]) -> str | None:
    """The column of a name; upper and lower case do not matter where only one fits."""
    if name in columns:
        return name
    alike = [c for c in columns if c.lower() == name.lower()]
    return alike[0] if len(alike) == 1 else None
