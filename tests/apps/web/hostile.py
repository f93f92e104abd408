"""A folder in which every text is an attack: studies, stores, models, data, names, labels.

What a text is, the schema of studies, the tables of the store and the kinds of a page say, so that
a new one is attacked as well.
"""

from __future__ import annotations

import json
import sqlite3
import time
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np

from estimica.base import view as show
from estimica.base.view_json import _KINDS, page_to_json
from estimica.execute.runs.record import new_run_id
from estimica.execute.runs.store import Store
from estimica.study.tables.schema import study_schema

#: each calls __pwned with its number where it is taken for a program
PAYLOADS = (
    '" :x="__pwned(1)" :onclick="__pwned(1)" onmouseover="__pwned(1)',
    "' :x='__pwned(2)' :style='__pwned(2)' onfocus='__pwned(2)' autofocus='",
    "</script></style></title></textarea><script>__pwned(3)</script>",
    "<img src=x onerror=__pwned(4)>",
    "<svg onload=__pwned(5)><animate onbegin=__pwned(5)></svg>",
    '<a href="javascript:__pwned(6)" id="clicked">x</a>',
    "javascript:__pwned(7)//",
    "{{ constructor.constructor('__pwned(8)')() }} ${__pwned(8)} <%= __pwned(8) %>",
    '[x](javascript:__pwned(9)) ![y](x"onerror="__pwned(9)) <javascript:__pwned(9)>',
    "');__pwned(10);('`${__pwned(10)}`\\u0027);__pwned(10);//\\",
    'x;background:url("javascript:__pwned(11)");}</style><style>@import "javascript:__pwned(11)";',
    '<iframe srcdoc="<script>parent.__pwned(12)</script>" src="data:text/html,'
    '<script>parent.__pwned(12)</script>"></iframe>',
)
#: characters that must not be seen raw on any page
HIDDEN = "\x1b[2J\x00\u202e\u200b"
NUMBER = 1.0


# --- studies -------------------------------------------------------------------------------------


def filled(schema: dict[str, Any], text: str, defs: dict[str, Any], depth: int = 0) -> Any:
    """A value of a schema with everything that it may have, and `text` wherever one may stand."""
    if "$ref" in schema:
        return filled(defs[schema["$ref"].rpartition("/")[2]], text, defs, depth + 1)
    for union in ("anyOf", "oneOf", "allOf"):
        if union in schema:
            kinds = [filled(s, text, defs, depth + 1) for s in schema[union]]
            order = (dict, str, list)
            return next((v for kind in order for v in kinds if isinstance(v, kind)), kinds[0])
    kind = schema.get("type")
    if kind == "object":
        named = {
            n: filled(s, text, defs, depth + 1) for n, s in schema.get("properties", {}).items()
        }
        more = schema.get("additionalProperties")
        if isinstance(more, dict):
            named[text] = filled(more, text, defs, depth + 1)
        return {n: v for n, v in named.items() if v is not None}
    if kind == "array":
        items = schema.get("items") or (schema.get("prefixItems") or [{}])[0]
        return [filled(items, text, defs, depth + 1)]
    if kind == "boolean":
        return True
    if kind in ("number", "integer"):
        return 1
    return None if kind == "null" else text


def toml(tables: dict[str, Any]) -> str:
    """Tables as TOML."""
    lines = []
    for name, value in tables.items():
        entries = value if isinstance(value, list) else [value]
        for entry in entries:
            lines.append(f"[[{name}]]" if isinstance(value, list) else f"[{name}]")
            lines += [f"{json.dumps(k)} = {_inline(v)}" for k, v in entry.items()]
    return "\n".join(lines) + "\n"


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {_inline(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return json.dumps(value)


def attacked_study(text: str) -> str:
    """A study with every field of the schema, each a text where it may be."""
    schema = study_schema()
    return toml(filled(schema, text, schema["$defs"]))


# --- models and data -----------------------------------------------------------------------------


def modelica(text: str) -> str:
    """A model that loads, its names and descriptions attacks."""
    told = text.replace("\\", "\\\\").replace('"', '\\"')
    named = text.replace("\\", "\\\\").replace("'", "\\'")
    return f'''model Tank "{told}"
  parameter Real a(min = 0, max = 10) = 0.5 "{told}";
  parameter Real '{named}' = 1 "{told}";
  input Real u "{told}";
  output Real x(start = 1, fixed = true) "{told}";
equation
  der(x) = -a*x*'{named}' + u;
end Tank;
'''


def working_study(text: str) -> str:
    """A study that runs, with as many attacks as it can hold."""
    name = f"'{_modelica_name(text)}'"
    return toml(
        {
            "model": {"source": "Tank.mo"},
            "tune": {"a": {"start": 0.4}, name: {"start": 1, "min": 0.5, "max": 2}},
            "case": [
                {"name": text, "data": "data.csv", "inputs": {"u": text}, "outputs": {"x": "x"}}
            ],
        }
    )


def _modelica_name(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def csv(text: str) -> str:
    """Data whose column is an attack."""
    head = f'time,x,"{text.replace(chr(34), chr(34) * 2)}"'
    return "\n".join([head, *(f"{t},{np.exp(-0.7 * t):.6g},0" for t in np.linspace(0, 4, 21))])


# --- stores --------------------------------------------------------------------------------------


def a_page(text: str) -> show.Page:
    """A page with everything that a page can show."""
    line = np.linspace(0.0, 1.0, 5)
    every = {kind: _shown(kind, text, line) for kind in _KINDS.values()}
    parts = [v for k, v in every.items() if k not in (show.Page, show.Section)]
    shown = tuple(p for p in parts if isinstance(p, get_args(show.ViewElement)))
    return show.Page(text, (show.Section(text, f"{text}\n\n{text}", shown),), text)


def _shown(kind: type[Any], text: str, line: np.ndarray) -> Any:
    """A value of a kind, `text` wherever a text stands."""
    own: dict[str, Any] = {
        "panels": lambda: (_shown(show.Panel, text, line),),
        "curves": lambda: (_shown(show.Curve, text, line),),
        "bands": lambda: (_shown(show.Band, text, line),),
        "ribbons": lambda: (_shown(show.Ribbon, text, line),),
        "across": lambda: _shown(show.Across, text, line),
        "axes": lambda: (_shown(show.Upright, text, line),) * 2,
        "groups": lambda: ((text, (_shown(show.Bar, text, line),)),),
        "rows": lambda: ((text, text),),
        "columns": lambda: (text, text),
        "ticks": lambda: (),
        "sections": lambda: (),
        "shown": lambda: (),
        "counts": lambda: None,
        "good": lambda: np.array([True, False, True, False, True]),
        "labels": lambda: (text, text),
    }
    given: dict[str, Any] = {}
    hints = get_type_hints(kind)
    for field in fields(kind):
        if field.name in own:
            given[field.name] = own[field.name]()
        elif hints[field.name] is str:
            given[field.name] = text
        elif "ndarray" in str(hints[field.name]):
            two = kind is show.Heat and field.name in ("value", "colour")
            given[field.name] = np.outer(line, line) if two else line
        elif hints[field.name] is float:
            given[field.name] = NUMBER
    return kind(**given)


def attacked_store(folder: Path, text: str) -> list[str]:
    """A store with three runs, done, failed and running, every text of which is an attack."""
    store = Store.beside(folder)
    store.begin("fit", name="first", study="", settings={}).close()
    connection = sqlite3.connect(store.path)
    connection.execute("DELETE FROM run")
    now = time.time()
    entry = {"value": 1.0, "std_error": 0.1, "ci95": [0.8, 1.2], "unit": text, "description": text}
    node = {"__v_isVNode": True, "type": "img", "props": {"src": "x", "onerror": "__pwned(4)"}}
    result = {
        "parameters": {text: entry, "a": {**entry, "unit": node}},
        "start_values": {text: entry},
        "quality": {text: {text: {"errn_percent": 3.0}}},
        "criterion": text,
        "n_samples": text,
        "n_free": node,
        "outcome": {"status": "done", "message": text},
        "command": text,
    }
    page = json.dumps(page_to_json(a_page(text)))
    ids = []
    for k, status in enumerate(("done", "failed", "running")):
        run = new_run_id(now + k)
        ids.append(run)
        values: dict[str, Any] = {
            "id": run, "status": status, "cost": 1.0, "started": now + k - 60,
            "ended": None if status == "running" else now, "heartbeat": now + 500, "pid": 1,
            "study": json.dumps(text), "settings": json.dumps({"criterion": text, text: [text]}),
            "environment": json.dumps({text: text}), "result": json.dumps(result),
            "command": "fit" if status == "running" else text,
        }  # fmt: skip
        columns = [c[1] for c in connection.execute("PRAGMA table_info(run)")]
        row = [values.get(c, text) for c in columns]
        connection.execute(f"INSERT INTO run VALUES ({', '.join('?' * len(row))})", row)
        steps = json.dumps({"values": {text: 1.0, "a": 2.0}, "start": text, text: text})
        for number in range(3):
            connection.execute(
                "INSERT INTO iteration VALUES (?, ?, ?, ?, ?)", (run, number, 1.0, now, steps)
            )
        connection.execute(
            "INSERT INTO checkpoint VALUES (?, ?, ?, ?, NULL)", (run, text, now, steps)
        )
        connection.execute("INSERT INTO progress VALUES (?, ?, ?, ?)", (run, 0.5, text, now))
        connection.execute("INSERT INTO page VALUES (?, ?)", (run, page))
    connection.commit()
    connection.close()
    return ids


# --- all of it -----------------------------------------------------------------------------------


def file_name(text: str) -> str:
    """The attack as the name of a file, as far as a disk takes it."""
    return text.replace("/", "⁄").replace("\\", "")[:80].strip(" .")


def attacked_folder(folder: Path, text: str) -> list[str]:
    """Fill a folder with all of this; the runs of its store."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "all.toml").write_text(attacked_study(text), encoding="utf-8")
    (folder / "works.toml").write_text(working_study(text), encoding="utf-8")
    (folder / "Tank.mo").write_text(modelica(text), encoding="utf-8")
    (folder / "data.csv").write_text(csv(text), encoding="utf-8")
    name = file_name(text)
    (folder / f"{name}.toml").write_text(
        toml({"model": {"source": f"{name}.py:{text}"}, "tune": {text: 1}}), encoding="utf-8"
    )
    (folder / f"{name}.py").write_text("def f(x): return x\n")
    for ending in ("csv", "mo"):
        (folder / f"{name}.{ending}").write_text("time,x\n0,1\n")
    _workbook(folder / "data.xlsx", text)
    (folder / "sheets.toml").write_text(
        toml(
            {
                "static": {"expression": "a*x"},
                "tune": {"a": 1},
                "case": [
                    {"name": "a", "data": "data.xlsx", "sheet": text, "outputs": {"y": text}},
                    {"name": "b", "data": f"{name}.csv", "outputs": {"y": text}},
                ],
            }
        ),
        encoding="utf-8",
    )
    return attacked_store(folder, text)


def _workbook(path: Path, text: str) -> None:
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "".join(c for c in text if c not in "[]:*?/\\'")[:31] or "x"
    sheet.append(["time", "".join(c for c in text if c >= " ")])
    sheet.append([0, 1])
    book.save(path)


def labels(text: str) -> str:
    """The labels of a team, an attack."""
    return toml({"labels": {"tune.*.start": text, "tune.*": text, "case.*.data": text}})
