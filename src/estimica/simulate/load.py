"""load_model: the one door for models; what kind a source means is decided here and nowhere else.

A kind's own modules are imported when a model of that kind is loaded: a transfer function waits
neither for the engine nor for the Modelica compiler.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from estimica.base.code.reference import means_code, means_fmu
from estimica.base.errors import StudyError

if TYPE_CHECKING:
    from estimica.base.code.trusted import TrustedCode
    from estimica.compiled.model.interface import Model
    from estimica.simulate.fmu.description import Interface
    from estimica.simulate.fmu.model import FmuModel
    from estimica.simulate.function.model import FunctionModel
    from estimica.simulate.modelica.functions import Functions
    from estimica.simulate.modelica.model import ModelicaModel
    from estimica.structure.causality.demand import Names
    from estimica.structure.causality.redefinition import BackCausality

Fixed = Mapping[str, float | bool | int | str]

#: what a source means; "modelica" is also Base Modelica, which its text or ending tells
Kind = Literal["function", "code", "fmu", "transfer function", "modelica"]

_IN_S_OR_Z = re.compile(r"\b[sz]\b")
_CLASS = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*\Z")
#: a class of a library with a modification, as in `Valves.Linear(redeclare package Medium = …)`
_MODIFIED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+\s*\(.*\)\s*\Z", re.DOTALL)


@overload
def load_model(
    source: str | PathLike[str],
    class_: str | None = None,
    *,
    fix: Fixed | None = None,
    libraries: Sequence[str | PathLike[str]] = (),
    inputs: Names = (),
    unknowns: Names = (),
    leave_out: Names = (),
    frontend: str = "estimica",
    functions: Functions | None = None,
) -> ModelicaModel: ...


@overload
def load_model(
    source: str | PathLike[str],
    *,
    fix: Fixed | None = None,
    interface: Interface,
    communication_step: float | None = None,
) -> FmuModel: ...


@overload
def load_model(source: Callable[..., Any]) -> FunctionModel: ...


def load_model(
    source: str | PathLike[str] | Callable[..., Any],
    class_: str | None = None,
    *,
    fix: Fixed | None = None,
    libraries: Sequence[str | PathLike[str]] = (),
    inputs: Names = (),
    unknowns: Names = (),
    leave_out: Names = (),
    frontend: str = "estimica",
    interface: Interface | None = None,
    communication_step: float | None = None,
    functions: Functions | None = None,
) -> ModelicaModel | FunctionModel | FmuModel:
    """Load a Modelica class: a file, a package folder, a text, or a class name of a library.

    A Python function f(u, t, K=1, tau=3) is a model too, also as "file.py:function"; see
    `function_model`. So is an .fmu file: `interface` is then "me" (Model Exchange) or "cs"
    (Co-Simulation), and `communication_step` that of Co-Simulation in seconds.

    `class_` is the class where the source holds several, `fix` sets parameters (dotted names
    included) before anything is evaluated, `libraries` are further Modelica folders. `inputs`,
    `unknowns` and `leave_out` take a component unconnected, as it is; see `with_inputs`. Of a
    Modelica function, `inputs` are those of its inputs that vary; the others are parameters.
    A file of Base Modelica (.bmo) is read as it is; `frontend="openmodelica"` has `omc` write it.
    Of a file of Optimica (.mop) an optimization class is the model without its objective.
    `functions` are Modelica functions that Python computes, such as properties of a medium:
    {"Medium.h": "props.py:h"}, or {"value": …, "derivatives": …} where derivatives are given.
    """
    if callable(source):
        from estimica.simulate.function.model import function_model

        return function_model(source)
    if means_fmu(str(source)):
        from estimica.simulate.fmu.model import load_fmu

        return load_fmu(source, fix=fix, interface=interface, communication_step=communication_step)
    if means_code(str(source)) and not is_modelica_text(source):
        from estimica.simulate.function.model import function_model_of_file

        return function_model_of_file(str(source), Path(), fix)
    from estimica.simulate.modelica.functions import function_codes
    from estimica.simulate.modelica.model import ModelicaModel
    from estimica.simulate.modelica.origin import origin_of
    from estimica.source.load import load_flat
    from estimica.structure.causality.demand import Causality

    text = source if isinstance(source, str) else Path(source)
    folders = [Path(p) for p in libraries]
    causality = Causality.of(inputs, unknowns, leave_out)
    codes = function_codes(functions, Path()) if functions else {}
    read = ModelSource(str(source), class_, libraries=folders, frontend=frontend)
    read = read if is_modelica_text(source) else in_modelica(read)
    flat = load_flat(
        text if read.text is None else read.text,
        read.class_,
        fix=dict(fix or {}),
        libraries=read.libraries,
        inputs=causality.inputs,
        frontend=frontend,
        functions=codes,
    )
    if flat.of_function:
        causality = replace(causality, inputs=())
    origin = origin_of(text, class_, folders, frontend, codes)
    return ModelicaModel(flat, fix, causality, origin)


def is_modelica_text(source: str | PathLike[str]) -> bool:
    """Whether a source is Modelica itself; such a text may well name a Python file."""
    return isinstance(source, str) and "\n" in source


@dataclass(frozen=True)
class ModelSource:
    """A model as a study file or a command line names it, and what is said of it there.

    Such a source is a file (relative to `folder`, where there is one), the name of a class, or a
    formula in s or z, but never a text of Modelica. What a kind has no use for it does not look at.
    """

    source: str
    class_: str | None = None
    folder: Path | None = None
    fix: Fixed = field(default_factory=dict)
    libraries: Sequence[Path] = ()
    frontend: str = "estimica"
    interface: Interface | None = None
    communication_step: float | None = None
    sample_time: float | None = None  # of a transfer function in z
    #: Python code that was examined before, by the texts that mean it
    code: Mapping[str, TrustedCode] = field(default_factory=dict)
    leave_out: Sequence[str] = ()  # equations of a Modelica class that do not hold
    functions: Functions = field(default_factory=dict)  # of a Modelica class, that Python computes
    text: str | None = None  # of Modelica, where the source was translated to it

    @property
    def path(self) -> Path:
        """The source as a file."""
        return (self.folder or Path()) / self.source

    @property
    def kind(self) -> Kind:
        """What the source means."""
        if self.text is not None:
            return "modelica"
        if means_fmu(self.source):
            return "fmu"
        if means_code(self.source):
            return "code"
        if is_formula_in_s_or_z(self.source) and not os.path.exists(self.path):
            return "transfer function"
        return "modelica"

    @property
    def of_modelica(self) -> str | Path:
        """A file of Modelica, or the name of a class; without a folder the compiler decides."""
        if self.text is not None:
            return self.text
        if self.folder is None:
            return self.source
        is_file = os.path.exists(self.path) or self.path.suffix in (".mo", ".bmo", ".mop")
        is_class = _CLASS.match(self.source) or _MODIFIED.match(self.source)
        return self.source if not is_file and is_class else self.path


def in_modelica(named: ModelSource) -> ModelSource:
    """A source that is an Optimica file with the text that it means; others are left as they are.

    What lies beside the file is found as well.
    """
    from estimica.source.optimica.model import is_optimica_file, model_text

    path = named.path
    if not is_optimica_file(path):
        return named
    if named.frontend != "estimica":
        raise StudyError(
            "Q005",
            f"source '{named.source}': Estimica reads Optimica itself; leave frontend out, or "
            "write the model alone into a .mo file",
        )
    text, class_ = model_text(path, named.class_)
    return replace(named, text=text, class_=class_, libraries=[*named.libraries, path.parent])


def load_source(
    named: ModelSource,
    *,
    causality: BackCausality | None = None,
    inputs: Mapping[str, Sequence[str]] | None = None,
    measured: Sequence[str] = (),
) -> Model:
    """The model that a study file or a command line names, of whatever kind.

    A Modelica class that is open gets its inputs from the `causality` of a back-calculation, from
    the `inputs` that each case gives, by case, or else from what is called like the columns
    `measured`.
    """
    if named.kind == "fmu":
        from estimica.simulate.fmu.model import load_fmu

        return load_fmu(
            named.path,
            fix=named.fix,
            interface=named.interface,
            communication_step=named.communication_step,
        )
    if named.kind == "code":
        from estimica.simulate.function.file import code_of_source
        from estimica.simulate.function.model import function_model_of_code

        code = named.code.get(named.source) or code_of_source(named.source, named.folder or Path())
        return function_model_of_code(code, named.fix)
    if named.kind == "transfer function":
        from estimica.simulate.linear.constructors import model_of_text

        values: dict[str, Any] = dict(named.fix)
        return model_of_text(named.source, values, named.sample_time)
    return _component(named, causality, inputs, measured)


def _component(
    named: ModelSource,
    causality: BackCausality | None,
    inputs: Mapping[str, Sequence[str]] | None,
    measured: Sequence[str],
) -> Model:
    from estimica.simulate.modelica.component import (
        load_back_model,
        load_component,
        load_for_inputs,
    )
    from estimica.simulate.modelica.functions import function_codes

    source, fix, libraries = named.of_modelica, named.fix, named.libraries
    functions = function_codes(named.functions, named.folder or Path(), named.code)
    if causality is not None:
        return load_back_model(
            source,
            named.class_,
            fix,
            libraries,
            causality,
            frontend=named.frontend,
            functions=functions,
        )
    if inputs is None:
        return load_component(
            source,
            named.class_,
            fix=fix,
            libraries=libraries,
            measured=measured,
            functions=functions,
        )
    return load_for_inputs(
        source,
        named.class_,
        fix=fix,
        libraries=libraries,
        inputs=inputs,
        leave_out=named.leave_out,
        frontend=named.frontend,
        functions=functions,
    )


def is_formula_in_s_or_z(source: str) -> bool:
    """Whether a model's source is a formula in s or z rather than the name of a file or class."""
    formula = bool(_IN_S_OR_Z.search(source)) and any(c in source for c in "(*+^")
    if _MODIFIED.match(source):
        return False
    return (
        formula and not source.endswith((".mo", ".fmu", ".bmo", ".mop")) and not means_code(source)
    )
