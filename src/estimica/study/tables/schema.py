"""Schema: the JSON Schema of study files, from the same definition that reads them."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from pydantic import TypeAdapter

from estimica.study.tables.fit_file import ModelTable
from estimica.study.tables.input_design import InputDesignTable
from estimica.study.tables.study_file import StudyFile

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def study_schema() -> dict[str, Any]:
    """The schema, draft 2020-12, with descriptions and the keys as a study file spells them."""
    schema = TypeAdapter(StudyFile).json_schema(by_alias=True)
    tuner = schema["$defs"]["Tuner"]
    del tuner["properties"]["name"]  # the key of the table
    tuner.pop("required", None)
    schema["properties"]["tune"]["additionalProperties"] = {
        "anyOf": [{"type": "number"}, {"$ref": "#/$defs/Tuner"}]
    }
    ordered: tuple[type, ...] = (ModelTable, InputDesignTable)
    for cls, definition in (
        (StudyFile, schema),
        *((table, schema["$defs"][table.__name__]) for table in ordered),
    ):
        order = [f.name.rstrip("_") for f in fields(cls)]
        definition["properties"] = {n: definition["properties"][n] for n in order}
    about = {"$schema": DIALECT, "title": "Estimica study"}
    return {**_plain(schema), **about}


def _plain(value: Any) -> Any:
    """Without what TOML cannot hold: nothing, and defaults that are not JSON."""
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if not isinstance(value, dict):
        return value
    kept = {k: _plain(v) for k, v in value.items() if not (k == "default" and _odd(v))}
    options = [o for o in kept.get("anyOf", ()) if o != {"type": "null"}]
    if "anyOf" in kept:
        del kept["anyOf"]
        kept = kept | options[0] if len(options) == 1 else {**kept, "anyOf": options}
    return kept


def _odd(default: Any) -> bool:
    return default is None or (isinstance(default, float) and not math.isfinite(default))
