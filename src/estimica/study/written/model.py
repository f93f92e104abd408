"""The model of a study as the tables `[model]` and `[static]` of a study file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from estimica.base.errors import EstimicaError, StudyError
from estimica.compiled.model.interface import Model
from estimica.study.study import Study
from estimica.study.written.places import StudyPlace
from estimica.study.written.values import Table

if TYPE_CHECKING:
    from estimica.simulate.formula import FormulaModel
    from estimica.simulate.function.model import FunctionModel
    from estimica.simulate.linear.frequency_function import FrequencyFunction
    from estimica.simulate.linear.model import LinearModel
    from estimica.simulate.modelica.model import ModelicaModel

_AS_MODELICA = "write it as a Modelica model, as text or file, and load that"


def model_tables(study: Study, place: StudyPlace) -> Table:
    """The tables that make the model again; a text of Modelica is put beside the study file."""
    from estimica.simulate.fmu.model import FmuModel
    from estimica.simulate.formula import FormulaModel
    from estimica.simulate.function.model import FunctionModel
    from estimica.simulate.linear.frequency_function import FrequencyFunction
    from estimica.simulate.linear.model import LinearModel
    from estimica.simulate.modelica.model import ModelicaModel
    from estimica.simulate.modelica.operating_points import PointModel

    model = study.bare
    if isinstance(model, ModelicaModel):
        return {"model": _modelica(study, model, place)} | _drawn(study)
    if isinstance(model, PointModel):
        settings = model.settings
        defaults = type(settings)()
        static: Table = {"mode": settings.mode}
        for key in ("tolerance", "max_time"):
            if getattr(settings, key) != getattr(defaults, key):
                static[key] = getattr(settings, key)
        static |= {"guess": dict(settings.guess)} if settings.guess else {}
        inner = _modelica(study, model.model, place)
        return {"model": inner, "static": static | _drawn(study).get("static", {})}
    if isinstance(model, FormulaModel):
        return _formulas(study, model)
    if isinstance(model, FmuModel):
        return {"model": _fmu(model, place)}
    if isinstance(model, FunctionModel):
        return {"model": _function(model, place)}
    if isinstance(model, (LinearModel, FrequencyFunction)):
        return {"model": _transfer(model)}
    raise _refused(model, f"a {type(model).__name__} is in no file", _AS_MODELICA)


def _refused(model: Model, why: str, advice: str) -> StudyError:
    return StudyError(
        "Q183", f"model '{model.name}': {why}, and a study file names what it loads; {advice}"
    )


def _drawn(study: Study) -> Table:
    """What `[static]` says of plots, which no model knows."""
    table = study.tables.get("static")
    written: Mapping[str, Any] = table if isinstance(table, Mapping) else {}
    kept = {k: written[k] for k in ("against", "by") if k in written}
    return {"static": kept} if kept else {}


def _modelica(study: Study, model: ModelicaModel, place: StudyPlace) -> Table:
    origin = model.origin
    if origin is None:
        raise _refused(
            model,
            "it does not say which file or text it was read from",
            "load it anew with es.load_model (`estimica new problem.yaml` writes a PEtab problem "
            "as a study file)",
        )
    if model.causality.unknowns and not study.is_backwards:
        raise _refused(
            model,
            f"it was loaded with unknowns ({', '.join(model.causality.unknowns)})",
            "name them as compute in the table [backcalculate] of a study without tuners",
        )
    source = origin.source
    if origin.kind == "file":
        source = place.named(source)
    elif origin.kind == "text":
        ending = ".bmo" if source.lstrip("\ufeff \t\r\n").startswith("//!") else ".mo"
        source = place.put(place.unused_name("", ending), source.encode("utf-8"))
    table: Table = {"source": source}
    table |= {"class": origin.class_} if origin.class_ is not None else {}
    if origin.libraries:
        table["libraries"] = [place.named(folder) for folder in origin.libraries]
    table |= {"fix": dict(model.fixed)} if model.fixed else {}
    if origin.functions:
        table["functions"] = {name: _program(codes, place) for name, *codes in origin.functions}
    left_out = _left_out(study, model)
    table |= {"leave_out": left_out} if left_out else {}
    return table | ({"frontend": origin.frontend} if origin.frontend != "estimica" else {})


def _program(codes: Sequence[str], place: StudyPlace) -> str | Table:
    """The program of a function, and that of its derivatives where there is one."""
    parts = [code.rpartition(":") for code in codes]
    value, *derivatives = [f"{place.named(path)}:{function}" for path, _, function in parts]
    return {"value": value, "derivatives": derivatives[0]} if derivatives else value


def _left_out(study: Study, model: ModelicaModel) -> list[str]:
    """Equations that do not hold; a back-calculation names some of its own in its table."""
    back = study.tables.get("backcalculate")
    own = back.get("leave_out", ()) if study.is_backwards and isinstance(back, Mapping) else ()
    named = (own,) if isinstance(own, str) else tuple(own)
    return [equation for equation in model.causality.leave_out if equation not in named]


def _formulas(study: Study, model: FormulaModel) -> Table:
    texts = {name: formula.text for name, formula in model.formulas.items()}
    of_criteria = {c.name: c.of for c in study.criteria if c.kind == "value"}
    if texts == of_criteria and not model.input_names and "static" not in study.tables:
        return {}  # criteria without a model are formulas
    return {"static": {"expression": texts} | _drawn(study).get("static", {})}


def _fmu(model: Any, place: StudyPlace) -> Table:
    table: Table = {"source": place.named(model.archive.path), "interface": model.interface}
    table |= {"fix": dict(model.fixed)} if model.fixed else {}
    step = model.communication_step
    return table | ({"communication_step": step} if step is not None else {})


def _function(model: FunctionModel, place: StudyPlace) -> Table:
    if model.origin is None:
        raise _refused(
            model,
            "it is a Python function",
            f"put it into a Python file and load it from there: "
            f'es.load_model("model.py:{_plain_name(model.name)}")',
        )
    code, fix, derivatives = model.origin
    if derivatives != "auto":
        raise _refused(
            model,
            f"derivatives={derivatives!r} was asked of it, which only a program can",
            "load it without that",
        )
    function = f":{code.function}" if code.function else ""
    table: Table = {"source": f"{place.named(code.entry.path)}{function}"}
    return table | ({"fix": dict(fix)} if fix else {})


def _plain_name(name: str) -> str:
    return name if name.isidentifier() else "function"


def _transfer(model: LinearModel | FrequencyFunction) -> Table:
    """A text in s or z that makes the same model."""
    from estimica.simulate.linear.constructors import model_of_text
    from estimica.simulate.linear.model import LinearModel

    step = model.sample_time if isinstance(model, LinearModel) else None
    described = model.description.rpartition(", every ")[0] if step else model.description
    for text in dict.fromkeys(t for t in (model.text, described) if t):
        try:
            again = model_of_text(text, model.values, step)
        except EstimicaError:
            continue  # a description in words
        if _is_same(model, again):
            table: Table = {"source": text}
            table |= {"fix": dict(model.values)} if model.values else {}
            return table | ({"sample_time": step} if step is not None else {})
    raise _refused(
        model,
        "a linear model in a study file is a transfer function from u to y, from rest",
        f"{_AS_MODELICA}, or make it with es.transfer_function from a text in s or z",
    )


def _is_same(one: Model, other: Model) -> bool:
    """Whether two linear models are one: names, coefficients and what was before the run."""
    from estimica.simulate.linear.frequency_function import FrequencyFunction
    from estimica.simulate.linear.model import LinearModel

    if sorted(one.quantities(), key=repr) != sorted(other.quantities(), key=repr):
        return False
    if isinstance(one, LinearModel) and isinstance(other, LinearModel):
        alike = one.system.entries == other.system.entries
        return alike and (one.initial, one.sample_time) == (other.initial, other.sample_time)
    if isinstance(one, FrequencyFunction) and isinstance(other, FrequencyFunction):
        return one.text == other.text
    return False
