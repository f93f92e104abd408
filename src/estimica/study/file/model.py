"""The model of a study file: what its tables `[model]` and `[static]` name, or its formulas."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from estimica.base.code.trusted import TrustedCode
from estimica.base.errors import EstimicaError, StudyError
from estimica.compiled.model.interface import Model
from estimica.source.formula import parse_formula
from estimica.study.case import Case
from estimica.study.shared_columns import TIME, Role, said_roles
from estimica.study.tables.fit_file import FitFile, ModelTable, StaticTable

if TYPE_CHECKING:
    from estimica.structure.causality.redefinition import BackCausality

_KINDS = {
    "fmu": "an FMU",
    "code": "a Python function",
    "transfer function": "a transfer function",
}


def model_of_tables(
    content: FitFile,
    tables: Mapping[str, Any],
    cases: Sequence[Case],
    folder: Path,
    code: Mapping[str, TrustedCode],
) -> Model | None:
    """The model that the tables of a study name; None where what is wrong was told already."""
    cases = _with_columns(content, cases)
    if content.static is not None and content.model is None:
        back = content.backwards
        backwards = back is not None and bool(back.compute) and not content.tune
        return _static_model(content.static, cases, tunable=not backwards)
    if content.model is not None:
        inputs = {c.name: tuple(c.inputs) for c in cases if c.active}
        model = _loaded(content.model, folder, _causality(content, cases), inputs, code)
        static = content.static or _of_function(model)
        return model if static is None else _points(model, static)
    formulas = {c.name: c.of for c in content.criteria if c.kind == "value"}
    if formulas and "model" not in tables and "static" not in tables:
        from estimica.simulate.formula import formula_model

        return formula_model(formulas, ())
    unread = "criterion" in tables and not content.criteria  # told already; they may be formulas
    if "model" not in tables and "static" not in tables and not unread:
        raise StudyError("Q006", 'there is no [model]; write [model] and source = "Model.mo"')
    return None


def _with_columns(content: FitFile, cases: Sequence[Case]) -> Sequence[Case]:
    """The cases with those columns of all cases that are inputs or outputs without a model too.

    Of a formula it is known what stands in it, where the model is a class only what is said.
    """
    static, role = content.static, None
    if static is not None and content.model is None and static.expression is not None:
        role = _role_in(static.expression, content.tune)
    return said_roles(content.columns, role or (lambda _: None)).into(cases)


def _role_in(
    expression: str | Mapping[str, str], tuners: Collection[str]
) -> Callable[[str], Role | None]:
    texts = {"": expression} if isinstance(expression, str) else dict(expression)
    used: set[str] = set()
    for text in texts.values():
        try:
            used |= set(parse_formula(text).names)
        except EstimicaError:  # told where the model is made
            continue

    def role(name: str) -> Role | None:
        if name in texts:
            return "output"
        if name in used and name not in tuners:
            return "input"
        return "output" if isinstance(expression, str) and name not in used else None

    return role


def _of_function(model: Model) -> StaticTable | None:
    """A Modelica function has no time: its study is one of points without saying so."""
    return StaticTable() if model.of_function else None


def _points(model: Model, static: StaticTable) -> Model:
    """The model at operating points."""
    from estimica.simulate.modelica.model import ModelicaModel

    if static.expression is not None:
        raise StudyError("Q005", "there is a [model] and an expression too; leave out one of them")
    if not isinstance(model, ModelicaModel):
        raise StudyError(
            "Q005", f"'{model.name}' has no operating points; they need a Modelica class"
        )
    return model.at_points(
        static.mode, tolerance=static.tolerance, max_time=static.max_time, guess=static.guess
    )


def _static_model(static: StaticTable, cases: Sequence[Case], *, tunable: bool) -> Model:
    from estimica.simulate.formula import formula_model

    if static.mode != "static":
        raise StudyError(
            "Q006",
            f"mode '{static.mode}' needs a model; write [model] and source = \"Model.mo\"",
        )
    if static.guess:
        raise StudyError("Q006", "guess is for the equations of a [model]; leave it out")
    if static.expression is None:
        raise StudyError(
            "Q006", 'expression is missing; write expression = "a + b*x", or a [model]'
        )
    expression = static.expression
    measured = list(dict.fromkeys(n for c in cases for n in c.outputs))
    if isinstance(expression, str):
        if len(measured) > 1:
            named = ", ".join(f'{n} = "…"' for n in measured)
            raise StudyError(
                "Q007",
                f"one expression, but the cases have {len(measured)} outputs; "
                f"write expression = {{ {named} }}",
            )
        expression = {measured[0] if measured else "y": expression}
    inputs = list(dict.fromkeys(n for c in cases for n in c.inputs))
    return formula_model(expression, inputs=inputs, tunable=tunable)


def _causality(content: FitFile, cases: Sequence[Case]) -> BackCausality | None:
    """What is given and computed, where a study has no tuners and only calculates backwards."""
    back = content.backwards
    if content.tune or back is None or not back.compute or not cases:
        return None
    from estimica.structure.causality.redefinition import BackCausality

    left_out = content.model.leave_out if content.model is not None else ()
    leave_out = tuple(dict.fromkeys([*left_out, *back.leave_out]))
    first = cases[0]
    measured = tuple(dict.fromkeys([*first.columns_of_outputs, *_measured(content, first)]))
    return BackCausality(tuple(first.inputs), back.compute, leave_out, measured)


def _measured(content: FitFile, case: Case) -> list[str]:
    """Columns of all cases that the class decides about: its inputs are given anyway."""
    said = {*case.inputs, *case.without, TIME}
    return [] if case.data is None else [n for n in content.columns if n not in said]


def _loaded(
    table: ModelTable,
    folder: Path,
    causality: BackCausality | None,
    inputs: Mapping[str, Sequence[str]],
    code: Mapping[str, TrustedCode],
) -> Model:
    from estimica.simulate.load import ModelSource, in_modelica, load_source

    named = ModelSource(
        table.source,
        table.class_,
        folder=folder,
        fix=table.fix,
        libraries=[folder / library for library in table.libraries],
        frontend=table.frontend,
        interface=table.interface,
        communication_step=table.communication_step,
        sample_time=table.sample_time,
        code=code,
        functions=table.functions,
        leave_out=table.leave_out,
    )
    _require_apt(table, named.kind)
    return load_source(in_modelica(named), causality=causality, inputs=inputs)


def _require_apt(table: ModelTable, kind: str) -> None:
    """Whether all that the table says is for a model of its kind."""
    if kind != "fmu":
        for key in ("interface", "communication_step"):
            if getattr(table, key) is not None:
                raise StudyError(
                    "Q005", f"source '{table.source}': {key} is for FMUs only; leave that out"
                )
    if kind != "transfer function" and table.sample_time is not None:
        raise StudyError(
            "Q005",
            f"source '{table.source}': sample_time is for transfer functions in z only; leave that "
            "out",
        )
    if kind in _KINDS:
        _require_no_class(table, _KINDS[kind])
    if kind == "fmu" and table.frontend != "estimica":
        raise StudyError("Q005", f"source '{table.source}': an FMU has no frontend; leave that out")


def _require_no_class(table: ModelTable, kind: str) -> None:
    said = {
        "class": table.class_,
        "libraries": table.libraries,
        "equations": table.leave_out,
        "Modelica functions": table.functions,
    }
    for what, given in said.items():
        if given:
            raise StudyError(
                "Q005", f"source '{table.source}': {kind} has no {what}; leave that out"
            )
