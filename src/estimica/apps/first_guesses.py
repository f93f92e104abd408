"""First guesses as comments in a drafted study file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from estimica.base.files.toml import load_toml
from estimica.data.table import Data

MOST = 6  # remarks for one case


def with_first_guesses(text: str, tables: Sequence[Data]) -> str:
    """The drafted study with what steps in the data suggest, below the head of each case."""
    cases = load_toml(text).get("case", [])
    if not tables or len(cases) != len(tables):
        return text
    remarks = iter([list(_remarks(c, t)) for c, t in zip(cases, tables, strict=True)])
    lines = []
    for line in text.splitlines():
        lines.append(line)
        if line == "[[case]]":
            lines += next(remarks)
    return "\n".join(lines) + "\n"


def _remarks(case: Mapping[str, object], data: Data) -> Iterator[str]:
    from estimica.experiment.guess.step_remarks import step_remarks

    found = step_remarks(data, _columns(case.get("inputs")), _columns(case.get("outputs")))
    yield from (f"# {' '.join(sentence.split())}" for sentence in found[:MOST])


def _columns(given: object) -> list[str]:
    """The columns of a table of inputs or outputs, each a name or {column = name, …}."""
    columns = given.values() if isinstance(given, Mapping) else ()
    named = [c.get("column") if isinstance(c, Mapping) else c for c in columns]
    return [c for c in named if isinstance(c, str)]
