"""The study file of an Optimica problem, and the Modelica file beside it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from estimica.base.files.write import write_text
from estimica.source.optimica.objective import Residual
from estimica.source.optimica.problem import FreeParameter, OptimicaProblem
from estimica.study.draft.columns import Table
from estimica.study.draft.run import relative
from estimica.study.toml.write import toml_key, toml_number, toml_value

NO_DATA = "measurements.csv"


def model_path(problem: OptimicaProblem, path: Path, source: str) -> Path | None:
    """Where the model is written, never over the file that it comes from; None: it is that file."""
    if not problem.modelica:
        return None
    beside = path.with_suffix(".mo")
    # some file systems do not tell Boiler.mo from boiler.mo
    same = beside.resolve().as_posix().lower() == Path(source).resolve().as_posix().lower()
    return beside.with_name(f"{beside.stem}_model.mo") if same else beside


def write_optimica_study(
    problem: OptimicaProblem, path: Path, model: Path | None, source: str, tables: Sequence[Table]
) -> None:
    """Write the study to `path` and its model, where it is not the source, to `model`."""
    if model is not None:
        write_text(model, problem.modelica)
    named = relative(source, path.parent) if model is None else model.name
    write_text(path, study_text(problem, named, source, tables))


def study_text(problem: OptimicaProblem, model: str, source: str, tables: Sequence[Table]) -> str:
    """The commented text of the study; a case for each table of data."""
    about = "   # the class without objective, residuals and measurements"
    lines = [
        f"# Written from {problem.class_} of {Path(source).name}.",
        *(f"# Note: {n}." for n in problem.notes),
        "",
        "[model]",
        f"source = {toml_value(model)}{about if problem.modelica else ''}",
        f"class = {toml_value(problem.class_)}",
        "",
        "[tune]",
        *(_tuner(p) for p in problem.free),
    ]
    if not problem.free:
        lines.append("# nothing but noise levels is free")
    for table in tables:
        names = list(table.data.names)
        lines += ["", *_case(problem, Path(table.path).stem, table.path, names)]
    if not tables:
        lines += ["", *_case(problem, "measurements", NO_DATA, None)]
    criterion = "ml" if problem.likelihood or problem.variances else "oe"
    why = "noise variances are part of the objective" if criterion == "ml" else "squares only"
    lines += ["", "[estimate]", f'criterion = "{criterion}"   # {why}', ""]
    return "\n".join(lines)


def _tuner(p: FreeParameter) -> str:
    remark = ""
    if p.start is None:
        remark = "   # no initialGuess and no value: choose the start"
    elif p.begin != p.start:
        remark = f"   # the guess {p.start:g} was beyond its bounds"
    parts = [f"start = {toml_number(p.begin)}"]
    if math.isfinite(p.minimum):
        parts.append(f"min = {toml_number(p.minimum)}")
    if math.isfinite(p.maximum):
        parts.append(f"max = {toml_number(p.maximum)}")
    return f"{toml_key(p.name)} = {{ {', '.join(parts)} }}{remark}"


def _case(
    problem: OptimicaProblem, name: str, file: str, columns: Sequence[str] | None
) -> Iterator[str]:
    yield "[[case]]"
    yield f"name = {toml_value(name)}"
    yield f"data = {toml_value(file)}"
    if problem.inputs:
        pairs = ", ".join(f"{toml_key(n)} = {toml_value(n)}" for n in problem.inputs)
        yield f"inputs = {{ {pairs} }}"
    residuals = list(problem.residuals)
    if not problem.modelica:  # any variable may have been measured: those that have a column
        residuals = [r for r in residuals if r.measured in (columns or ())]
    if residuals:
        pairs = ", ".join(f"{toml_key(r.simulated)} = {_column(problem, r)}" for r in residuals)
        yield f"outputs = {{ {pairs} }}"
    else:
        yield '# outputs = { variable = "column" }   # which variables were measured'
    if problem.start:
        yield f"from = {toml_number(problem.start)}"
    if problem.stop is not None:
        yield f"to = {toml_number(problem.stop)}"


def _column(problem: OptimicaProblem, r: Residual) -> str:
    parts = [f"column = {toml_value(r.measured)}"]
    if problem.likelihood or problem.variances:
        noise = problem.variances.get(r.variance)
        known = problem.known.get(r.variance)
        if noise is not None:
            bounds = []
            if noise.minimum > 0:
                bounds.append(f"min = {toml_number(math.sqrt(noise.minimum))}")
            if 0 < noise.maximum < math.inf:
                bounds.append(f"max = {toml_number(math.sqrt(noise.maximum))}")
            if bounds:
                parts.append(f"sigma = {{ {', '.join(bounds)} }}")
        elif known is not None and known > 0:
            parts.append(f"sigma = {toml_number(math.sqrt(known))}")
    elif problem.modelica:
        known = problem.known.get(r.variance, 1.0)
        parts.append(f"weight = {toml_number(math.sqrt(r.factor / known))}")
    return toml_value(r.measured) if len(parts) == 1 else f"{{ {', '.join(parts)} }}"
