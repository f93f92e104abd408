"""The door of this room: Modelica text, files, packages and library classes as FlatSystems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from estimica.base.code.numeric import NumericCode
from estimica.base.errors import SourceError
from estimica.base.suggest import did_you_mean
from estimica.flat.system import FlatSystem
from estimica.source.base_modelica.document import base_text
from estimica.source.fixed_values import FixedValue
from estimica.source.limits import load_seconds


def load_flat(
    source: str | Path,
    class_name: str | None = None,
    *,
    fix: Mapping[str, FixedValue] | None = None,
    libraries: Sequence[Path] = (),
    inputs: Sequence[str] = (),
    frontend: str = "estimica",
    cache: bool = True,
    time_limit: float | None = None,
    functions: Mapping[str, NumericCode] | None = None,
) -> FlatSystem:
    """The class `class_name` of `source` as scalar variables and equations.

    source: a .mo file, a package's folder, Modelica text, or the name of a library's class; also
    a file (.bmo) or text of Base Modelica.
    class_name: dotted; without it the last class of the file.
    fix: parameter values, by dotted name, put in as modifiers.
    libraries: more places of libraries, besides MODELICAPATH and the usual folders.
    inputs: of a function: those of its inputs that vary; the others become parameters.
    frontend: what reads Modelica: `estimica`, or `openmodelica` where `omc` is on the PATH.
    cache: keep the result on disk and use it again while nothing has changed.
    time_limit: seconds that it may take; without it ESTIMICA_LOAD_SECONDS, or 120.
    functions: those that Python computes, by their full names.
    """
    base = base_text(source)
    if functions and (base is not None or frontend != "estimica"):
        raise SourceError(
            "S224", "functions of Python need the Modelica text itself and the front end 'estimica'"
        )
    if base is not None:
        from estimica.source.base_modelica.load import load_base_modelica

        return load_base_modelica(base, class_name, fix=fix, cache=cache)
    if frontend == "openmodelica":
        from estimica.source.openmodelica.call import load_with_openmodelica

        folders = [Path(p) for p in libraries]
        return load_with_openmodelica(
            source,
            class_name,
            fix=fix,
            libraries=folders,
            cache=cache,
            time_limit=time_limit or load_seconds(),
        )
    if frontend == "rumoca":
        raise SourceError(
            "S224",
            "there is no front end 'rumoca' any more: Estimica reads Modelica itself; leave "
            "'frontend' out",
        )
    if frontend != "estimica":
        hint = did_you_mean(frontend, ["estimica", "openmodelica"])
        raise SourceError(
            "S224", f"no front end '{frontend}'{hint}; there are estimica, openmodelica"
        )
    from estimica.source.modelica import load_modelica

    return load_modelica(source, class_name, fix, libraries, inputs, cache, time_limit, functions)
