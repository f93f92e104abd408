"""What a bench can be asked about its study; arguments and answers are plain JSON values."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from estimica.apps.web.worker.equations import equations
from estimica.apps.web.worker.guesses import columns, guess
from estimica.base.errors import EstimicaError, WebError
from estimica.base.files.read import read_text
from estimica.base.files.toml import load_toml
from estimica.base.thinning import thin_element
from estimica.base.view import Curve, Curves, Panel, figure, name_with_unit
from estimica.study.carry.write import without_starts

if TYPE_CHECKING:
    from estimica.base.quantities import Quantity
    from estimica.compiled.model.interface import Model
    from estimica.data.table import Data
    from estimica.estimate.by_hand import ByHand
    from estimica.execute.runs.record import StoredRun
    from estimica.optimise.criteria.indicators import Indicators
    from estimica.study.study import Study

Answer = dict[str, Any]
# chosen: a figure is sent and drawn at once, and curves keep their shape
CURVES = 4000  # points of all curves of a figure together
FEWEST = 60  # of one of them
DRAWN = 12  # columns of a file
DRIVEN = ("input", "state", "algebraic", "alias")


def model(study: Path) -> Answer:
    """What the model consists of, also where the rest of the study is not complete."""
    loaded = _model(study)
    return {
        "name": loaded.name,
        "description": loaded.description,
        "has_time": loaded.has_time,
        "outputs": list(loaded.output_names()),
        "notes": list(getattr(loaded, "notes", ())),
        "quantities": [_quantity(q, loaded) for q in loaded.quantities()],
    }


def check(study: Path) -> Answer:
    """Everything that is wrong with study, model and data together."""
    from estimica.optimise.check import check_design
    from estimica.study.check.run import check_file
    from estimica.study.file.read import examine_file

    problems = check_file(study)
    asked = examine_file(study).study
    if asked is not None:
        known = {p.text for p in problems}
        problems += [p for p in check_design(asked) if p.text not in known]
    return {"problems": [{**asdict(p), "text": p.text} for p in problems]}


def preview(
    study: Path, data: str | list[str], sheet: str | None = None, time: str | None = None
) -> Answer:
    """The columns of a data file, or the first of several, and a picture of them."""
    from estimica.study.file.several import CaseFiles

    table = _data(study, data, sheet)
    stamps = _stamps(table, time)
    columns = [
        {
            "name": name,
            "unit": table.units.get(name, ""),
            "kind": "date" if name in table.origins else "number",
            "time": name == stamps,
            **_range(table, name),
        }
        for name in table.names
    ]
    columns += [{"name": n, "unit": "", "kind": "text", "why": w} for n, w in table.texts.items()]
    return {
        "rows": len(table),
        "columns": columns,
        "constants": _plain(table.constants),
        "notes": list(table.notes),
        "files": list(CaseFiles(study.parent).of(data)),
        "figure": _figure(_picture(table, stamps)),
    }


def match(study: Path, data: str | list[str], sheet: str | None = None) -> Answer:
    """The entries of a case that the names and units of a file's columns suggest."""
    from estimica.study.draft.columns import Table
    from estimica.study.draft.run import draft

    table = Table("data", _data(study, data, sheet))
    (case,) = load_toml(draft(_model(study), "Model.mo", None, [table]).text)["case"]
    shared = _shared_columns(study, table.data)
    for kind in ("inputs", "outputs"):
        if kind in case:
            case[kind] = {n: e for n, e in case[kind].items() if n not in shared}
    said = {"name", "data", *(["time", "time_scale"] if "time" in shared else [])}
    return {"case": {k: v for k, v in case.items() if k not in said and v != {}}}


def _shared_columns(study: Path, data: Data) -> set[str]:
    """What a case with these data has from the columns of all cases already."""
    try:
        entries = load_toml(read_text(study, "utf-8-sig")).get("columns")
    except (tomllib.TOMLDecodeError, RecursionError):
        return set()
    known = entries.items() if isinstance(entries, dict) else ()
    columns = {n: e.get("column") if isinstance(e, dict) else e for n, e in known}
    return {n for n, c in columns.items() if c in data.names or isinstance(c, (int, float))}


def propose(study: Path, source: str, class_: str | None, data: list[str]) -> Answer:
    """The text of a new study from a model and data files.

    Of an Optimica problem also its model, without the objective: `modelica`, and its `file`.
    """
    from estimica.apps.draft import draft_study
    from estimica.source.optimica.problem import is_optimica

    if is_optimica(source):
        return _of_optimica(study, source, class_, data)
    drafted = draft_study(source, class_, [Path(d) for d in data], study.parent, [])
    return {"text": drafted.text, "notes": [r.sentence for r in drafted.remarks]}


def _of_optimica(study: Path, source: str, class_: str | None, data: list[str]) -> Answer:
    """What an optimization class says of free parameters, bounds and measurements."""
    from estimica.data.readers import read_data
    from estimica.source.optimica.problem import read_problem
    from estimica.study.draft.columns import Table
    from estimica.study.draft.optimica import model_path, study_text
    from estimica.study.draft.run import relative

    problem = read_problem(source, class_)
    tables = [Table(relative(d, study.parent), read_data(Path(d))) for d in data]
    model = model_path(problem, study, source)
    named = relative(source, study.parent) if model is None else model.name
    return {
        "text": study_text(problem, named, source, tables),
        "modelica": problem.modelica if model is not None else "",
        "file": "" if model is None else model.name,
    }


def propose_formula(study: Path, formula: str, data: list[str]) -> Answer:
    """The text of a new study whose model is a formula."""
    from estimica.data.readers import read_data
    from estimica.study.draft.columns import Table
    from estimica.study.draft.formula import draft_formulas, read_formulas
    from estimica.study.draft.run import relative

    formulas = read_formulas(formula)
    tables = [Table(relative(d, study.parent), read_data(Path(d))) for d in data]
    return {"text": draft_formulas(formulas, tables)}


def by_hand(study: Path, values: dict[str, float] | None = None, begun_with: str = "") -> Answer:
    """Measured and simulated curves at any values of the tuners, errors and cost."""
    hand = _hand(study, _state(study), begun_with)
    look = hand.at(values or {})
    shown = None if look.failure else _figure(look.curves)
    return look.to_dict() | {"figure": shown, "unknowns": [_unknown(u) for u in hand.unknowns]}


def indicators(
    study: Path, values: dict[str, float], first: dict[str, float], begun_with: str = ""
) -> Answer:
    """The indicators of a design beside those of the one that a search began with."""
    import numpy as np

    from estimica.optimise.criteria.indicators import comparison_figures

    drawn, names = _indicators(study, _state(study), begun_with)
    designs = [
        (word, drawn.at(np.array([at[n] for n in names])))
        for word, at in (("start", first), ("best so far", values))
        if all(n in at for n in names)
    ]
    figures = comparison_figures(designs) if designs else []
    panels = tuple(panel for one in figures for panel in one.panels)
    if not panels:
        return {"figure": None}
    count = sum(len(panel.curves) for panel in panels)
    return {"figure": _figure(thin_element(Curves(panels), max(FEWEST, CURVES // count)))}


def export(study: Path, run: str, what: str, out: str) -> Answer:
    """Write the curves of a stored fit as CSV, or the model that was found, into a folder."""
    from estimica.execute.runs.store import Store

    stored = Store.beside(study).run(run)
    if stored.summary.command == "optimise" and "tuners" in stored.result and what == "tuned":
        return _tuned(study, stored, Path(out))
    if stored.summary.command != "fit" or "parameters" not in stored.result:
        raise WebError("G065", f"run '{run}' has no fit to be written")
    _require_same(study, stored, "fit it again to write its curves")
    fit = _hand(study, _state(study), _begun_with(stored)).fit(_estimates(stored.result))
    folder = Path(out)
    if what == "curves":
        wrote = fit.write_csv(folder / f"{study.stem}.csv")
    else:
        wrote = (fit.write_modelica(folder / f"{study.stem.capitalize()}Fitted.mo"),)
    return {"files": [path.name for path in wrote]}


def use_values(study: Path, run: str) -> Answer:
    """The text of the study with the values of a run, what that changes, and what to know."""
    from estimica.base.problems import raise_all
    from estimica.execute.carry import found_run
    from estimica.study.carry.use import values_written
    from estimica.study.file.save import read_text as text_and_mark

    examined = _examined(study, _state(study), NO_RUN)
    raise_all(examined.problems)
    found = found_run(examined.study, run)
    written = values_written(examined.study, text_and_mark(study)[0], found.values)
    return {
        "text": written.text,
        "about": found.values.about,
        "changes": [c.text for c in written.changes],
        "remarks": list(written.remarks),
    }


def _begun_with(stored: StoredRun) -> str:
    """The run whose values a run began with."""
    named = stored.settings.get("fit")
    if named in ("fit", "bootstrap", "sample"):  # made by the run itself, and stored nowhere
        raise WebError(
            "G068",
            f"run '{stored.id}' made a {named} first and began with its values, which are not "
            "stored; store that fit as a run of its own, and begin with that",
        )
    return named if isinstance(named, str) else ""


def _require_same(study: Path, stored: StoredRun, advice: str) -> None:
    if without_starts(stored.study) != without_starts(read_text(study, "utf-8-sig")):
        raise WebError("G066", f"the study has changed since run '{stored.id}'; {advice}")


def _tuned(study: Path, stored: StoredRun, folder: Path) -> Answer:
    """The best design of a stored search as a Modelica class."""
    from estimica.base.problems import raise_all
    from estimica.optimise.optimum.modelica import write_tuned_model

    _require_same(study, stored, "optimise it again to write its design")
    examined = _examined(study, _state(study), _begun_with(stored))
    raise_all(examined.problems)
    values = {n: float(t["value"]) for n, t in stored.result["tuners"].items()}
    ended = stored.result.get("outcome", {}).get("status", stored.status)
    largest = stored.result.get("aggregate", {}).get("largest")
    share = "" if largest is None else f"largest criterion/demand {largest:.6g}, "
    path = folder / f"{study.stem.capitalize()}Tuned.mo"
    path = write_tuned_model(examined.study, values, f"{share}{ended}", path)
    return {"files": [path.name]}


TASKS: Mapping[str, Callable[..., Answer]] = {
    "model": model,
    "check": check,
    "equations": equations,
    "preview": preview,
    "match": match,
    "propose": propose,
    "columns": columns,
    "guess": guess,
    "propose_formula": propose_formula,
    "by_hand": by_hand,
    "indicators": indicators,
    "export": export,
    "use_values": use_values,
}


# --- studies, models, data -----------------------------------------------------------------------


def _state(study: Path) -> tuple[object, ...]:
    """What tells that a study is still the one that was read: its text, its code, files' times."""
    from estimica.study.file.several import CaseFiles
    from estimica.study.file.trust import code_in

    text = read_text(study, "utf-8-sig")
    try:
        tables = load_toml(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return (text,)
    cases, table = tables.get("case"), tables.get("model")
    names = [c.get("data") for c in cases if isinstance(c, dict)] if isinstance(cases, list) else []
    if isinstance(table, dict):
        libraries = table.get("libraries")
        names += [table.get("source"), *(libraries if isinstance(libraries, list) else [])]
    files = [f for one in code_in(tables, study.parent).values() for f in one.files]
    code = tuple((str(f.path), f.sha256) for f in files)
    listed = CaseFiles(study.parent).in_tables({"case": [{"data": n} for n in names]})["case"]
    several = [c["data"] if isinstance(c["data"], list) else [c["data"]] for c in listed]
    meant = [n for own in several for n in own if isinstance(n, str)]
    if tables.get("from_fit"):  # the last run may be another one by now
        meant.append(".estimica/runs.sqlite")
    return text, code, *((n, _changed(study.parent / n)) for n in meant)


def _changed(path: Path) -> object:
    try:
        if path.is_dir():
            return max(((p.stat().st_mtime_ns, str(p)) for p in path.rglob("*.mo")), default=())
        facts = path.stat()
    except (OSError, ValueError):  # what is not a path
        return ()
    return facts.st_mtime_ns, facts.st_size


NO_RUN = "none"  # in place of a run: also not the one that the study names


@lru_cache(maxsize=1)
def _examined(study: Path, state: tuple[object, ...], begun_with: str = "") -> Any:
    """The study as it is, or at the values of another run."""
    from dataclasses import replace

    from estimica.execute.carry import study_at_run
    from estimica.study.carry.names import RUN, TABLE
    from estimica.study.file.read import examine_file

    if not begun_with:
        return examine_file(study)
    examined = examine_file(study, {TABLE: {RUN: ""}})
    if examined.study is None or begun_with == NO_RUN:
        return examined
    carried, _ = study_at_run(examined.study, begun_with)
    return replace(examined, study=carried.study)


def _model(study: Path) -> Model:
    examined = _examined(study, _state(study))
    if examined.study is not None:
        model: Model = examined.study.model
        return model
    problems = [p for p in examined.problems if p.where in ("[model]", "[static]", "")]
    worst = (problems or examined.problems)[0]
    raise WebError(worst.code, worst.text) if worst.code.startswith("G") else _as_error(worst)


def _as_error(problem: Any) -> EstimicaError:
    from estimica.base.problems import raise_all

    try:
        raise_all([problem])
    except EstimicaError as error:
        return error
    return WebError("G060", problem.text)


@lru_cache(maxsize=1)
def _hand(study: Path, state: tuple[object, ...], begun_with: str = "") -> ByHand:
    from estimica.base.problems import raise_all
    from estimica.estimate.by_hand import ByHand

    examined = _examined(study, state, begun_with)
    raise_all(examined.problems)
    asked: Study = examined.study
    return ByHand(asked, points=_points(len([o for c in asked.active_cases for o in c.outputs])))


@lru_cache(maxsize=1)
def _indicators(
    study: Path, state: tuple[object, ...], begun_with: str = ""
) -> tuple[Indicators, list[str]]:
    """The indicators of a study, and the tuners that they are drawn at."""
    from estimica.base.problems import raise_all
    from estimica.optimise.criteria.indicators import Indicators

    examined = _examined(study, state, begun_with)
    raise_all(examined.problems)
    return Indicators(examined.study), [t.name for t in examined.study.active_tuners]


def _points(outputs: int) -> int:
    return max(FEWEST, CURVES // max(2 * outputs, 1))


def _data(study: Path, data: str | list[str], sheet: str | None) -> Data:
    """The table of a file, or of the first of several."""
    from estimica.data.readers import read_table
    from estimica.study.file.read import reading_of
    from estimica.study.file.several import CaseFiles

    first = CaseFiles(study.parent).of(data)[0]
    return read_table(study.parent / first, sheet, reading_of(study, data).options())


def _estimates(result: Mapping[str, Any]) -> dict[str, float]:
    """The values of a stored fit by the labels of its unknowns."""
    estimates = {n: p["value"] for n, p in result["parameters"].items()}
    for kind, word in (("start_values", "start"), ("disturbances", "disturbance")):
        for case, own in result.get(kind, {}).items():
            estimates |= {f"{word} of {n} in {case}": p["value"] for n, p in own.items()}
    return estimates


# --- as JSON -------------------------------------------------------------------------------------


def _quantity(q: Quantity, model: Model) -> Answer:
    from estimica.simulate.modelica.model import ModelicaModel

    drives = q.role == "input" or (isinstance(model, ModelicaModel) and q.role in DRIVEN)
    return {
        "name": q.name,
        "value": _plain(q.value),
        "unit": q.unit,
        "description": q.description,
        "role": q.role,
        "kind": q.kind,
        "min": _plain(q.min),
        "max": _plain(q.max),
        "nominal": _plain(q.nominal),
        "tunable": q.tunable,
        "structural": q.role == "parameter" and not q.tunable,
        "why_not": q.why_not,
        "can_drive": drives,
        "difference": q.difference,
    }


def _unknown(u: Any) -> Answer:
    keys = ("label", "name", "kind", "case", "start", "min", "max", "unit", "log", "description")
    return {k: _plain(getattr(u, k)) for k in keys}


def _plain(value: Any) -> Any:
    """The same with None for numbers that are not finite, which JSON does not know."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _range(data: Data, name: str) -> Answer:
    import numpy as np

    known = data.columns[name][np.isfinite(data.columns[name])]
    ends = (float(known.min()), float(known.max())) if len(known) else (None, None)
    return {"min": ends[0], "max": ends[1], "missing": int(len(data) - len(known))}


def _stamps(data: Data, time: str | None) -> str | None:
    try:
        return data.time_name(time)
    except EstimicaError:
        return None


def _picture(data: Data, stamps: str | None) -> Curves:
    """Every column over the time, or over the number of its row."""
    import numpy as np

    x = data.columns[stamps] if stamps else np.arange(1.0, len(data) + 1)
    names = [n for n in data.names if n != stamps][:DRAWN]
    panels = []
    origin = data.origins.get(stamps, "") if stamps else ""
    for name in names:
        unit = data.units.get(name, "")
        curve = Curve(name, x, data.columns[name], unit, dotted=stamps is None)
        panels.append(Panel(name_with_unit(name, unit), (curve,), origin=origin))
    label = name_with_unit(stamps, data.units.get(stamps, "")) if stamps else "row"
    shown = Curves(tuple(panels), "", label, panel_height=120)
    return thin_element(shown, max(FEWEST, 2 * CURVES // max(len(names), 1)))


def _figure(curves: Curves) -> Answer:
    from estimica.report.plotly.compact_json import figure_json

    drawn: Answer = json.loads(figure_json(figure(curves)))
    return drawn
