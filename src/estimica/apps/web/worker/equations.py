"""Equations of a study's Modelica class, to choose from those that do not hold."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from estimica.base.files.read import read_text
from estimica.base.files.toml import load_toml

#: equations that are sent to a page; chosen: a list that a browser filters without delay
MOST = 1000


def equations(study: Path) -> dict[str, Any]:
    """Their texts, the first ones, and how many there are.

    The class need not be complete: it is when its equations and inputs do not go together that an
    equation is to be left out. Classes of other kinds, and code nobody agreed to, have none.
    """
    from estimica.simulate.load import ModelSource, in_modelica
    from estimica.simulate.modelica.functions import function_codes
    from estimica.source.load import load_flat
    from estimica.structure.causality.redefinition import equation_text
    from estimica.study.file.trust import untrusted_code

    table, inputs = _named(study)
    source = table.get("source")
    if not isinstance(source, str) or untrusted_code(study):
        return {"equations": [], "count": 0}
    class_, fix, libraries = (table.get(k) for k in ("class", "fix", "libraries"))
    folders = [study.parent / str(p) for p in libraries] if isinstance(libraries, list) else []
    class_ = class_ if isinstance(class_, str) else None
    named = ModelSource(source, class_, folder=study.parent, libraries=folders)
    if named.kind != "modelica":
        return {"equations": [], "count": 0}
    named = in_modelica(named)
    flat = load_flat(
        named.of_modelica,
        named.class_,
        fix=dict(fix) if isinstance(fix, Mapping) else {},
        libraries=named.libraries,
        inputs=inputs,  # as the study itself is loaded, so that it is read once
        frontend=str(table.get("frontend", "estimica")),
        functions=function_codes(table.get("functions", {}), study.parent),
    )
    texts = dict.fromkeys(map(equation_text, flat.equations))
    return {"equations": list(texts)[:MOST], "count": len(texts)}


def _named(study: Path) -> tuple[Mapping[str, Any], list[str]]:
    """The table of the model, and the names of all inputs of the cases."""
    try:
        tables = load_toml(read_text(study, "utf-8-sig"))
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}, []
    model, cases = tables.get("model"), tables.get("case")
    names: dict[str, None] = {}
    for case in cases if isinstance(cases, list) else []:
        inputs = case.get("inputs") if isinstance(case, dict) else None
        if isinstance(inputs, dict) and case.get("active", True):
            names |= dict.fromkeys(inputs)
    shared = tables.get("columns")
    for name, entry in shared.items() if isinstance(shared, dict) else ():
        if isinstance(entry, dict) and entry.get("role") == "input":
            names[name] = None
    return model if isinstance(model, dict) else {}, list(names)
