"""Names of runs: `fit 3` from the beginning, or what the user calls them; each once in a store."""

from __future__ import annotations

import re
import sqlite3

from estimica.base.errors import StoreError
from estimica.base.suggest import did_you_mean
from estimica.base.visible import is_visible
from estimica.execute.runs.database import NAMES, version_of
from estimica.execute.runs.record import is_run_id

LAST = "last"  # stands for the newest run
LONGEST = 80  # letters of a name; chosen: a line of a table or a legend


def with_name(connection: sqlite3.Connection, summary: str) -> str:
    """The question for a summary, with the name; stores of older versions have none."""
    name = "''"
    if version_of(connection) >= NAMES:
        name = "coalesce((SELECT text FROM label WHERE label.run = run.id), '')"
    return summary.replace(" FROM run", f", {name} AS label FROM run", 1)


def next_name(connection: sqlite3.Connection, command: str) -> str:
    """The command with the number after the largest one that such a name has."""
    names = [str(n) for (n,) in connection.execute("SELECT text FROM label")]
    numbers = [re.fullmatch(rf"{re.escape(command)} (\d{{1,9}})", n) for n in names]
    return f"{command} {max((int(n[1]) for n in numbers if n), default=0) + 1}"


def set_name(connection: sqlite3.Connection, run_id: str, name: str) -> None:
    """Call a run so; another one of that name is an error."""
    row = connection.execute(
        "SELECT run FROM label WHERE text = ? AND run <> ?", (name, run_id)
    ).fetchone()
    if row is not None:
        raise StoreError("B046", f"run '{row['run']}' is called '{name}' already; choose another")
    connection.execute("INSERT OR REPLACE INTO label VALUES (?, ?)", (run_id, name))


def checked_name(name: str) -> str:
    """A name that a run can have: one line, and nothing that means another run."""
    name = " ".join(name.split())
    if not name:
        raise StoreError("B045", "a run needs a name of at least one letter")
    if len(name) > LONGEST:
        raise StoreError(
            "B045", f"a name of {len(name)} letters is too long: at most {LONGEST} fit into a table"
        )
    if not is_visible(name):
        raise StoreError("B045", "a name of a run has only letters that can be seen")
    if name == LAST or is_run_id(name):
        raise StoreError("B045", f"'{name}' means another run already; choose another name")
    return name


def id_among(which: str, ids: dict[str, str], path: object) -> str:
    """The run that is meant by an id, a name, or a part of an id; `ids` has names, oldest first."""
    if which == LAST and ids:
        return list(ids)[-1]
    if which in ids:
        return which
    called = [i for i, name in ids.items() if name and name == which]
    if called:
        return called[0]
    fitting = [i for i in ids if which and (i.startswith(which) or i.endswith(which))]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        some = ", ".join(f"'{i}'" for i in fitting[-3:])
        raise StoreError(
            "B011", f"{len(fitting)} runs fit '{which}', {some} among them; write more of it"
        )
    raise unknown_run(which, ids, path)


def unknown_run(which: str, ids: dict[str, str], path: object) -> StoreError:
    """That there is no such run, and which one may be meant."""
    if not ids:
        return StoreError("B010", f"there is no run '{which}': '{path}' holds no runs yet")
    known = [*ids, *filter(None, ids.values())]
    newest = list(ids)[-1]
    hint = did_you_mean(which, known) or f"; the newest is '{newest}', `estimica runs` lists all"
    return StoreError("B010", f"there is no run '{which}' in '{path}'{hint}")
