"""The door of this room: Modelica text, files, packages and library classes as FlatSystems."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from estimica.base.errors import SourceError, UnsupportedError
from estimica.base.suggest import did_you_mean
from estimica.flat import expression as ex
from estimica.flat.system import FlatSystem, Variability
from estimica.source.base_modelica.document import base_text
from estimica.source.cache import key_of, read_flat, write_flat
from estimica.source.decode.origins import SourceFiles, source_number
from estimica.source.decode.system import decode
from estimica.source.function_model import function_as_model, is_function
from estimica.source.limits import LoadLimits, load_limits, load_seconds
from estimica.source.request import (
    FixedValue,
    Request,
    check_class,
    check_fixed_names,
    read_request,
)
from estimica.source.rumoca.attempt import Attempt
from estimica.source.rumoca.derivative_functions import mark_derivatives
from estimica.source.rumoca.diagnostics import explained, may_lack_files, unknown_names
from estimica.source.rumoca.dropped_modifiers import checked
from estimica.source.rumoca.hidden import OuterNames
from estimica.source.rumoca.process import Refusal, flatten
from estimica.source.rumoca.selection import Selection, selected, whole
from estimica.source.syntax.outline import experiment_of, outline


def load_flat(
    source: str | Path,
    class_name: str | None = None,
    *,
    fix: Mapping[str, FixedValue] | None = None,
    libraries: Sequence[Path] = (),
    inputs: Sequence[str] = (),
    frontend: str = "rumoca",
    cache: bool = True,
    time_limit: float | None = None,
) -> FlatSystem:
    """The class `class_name` of `source` as scalar variables and equations.

    source: a .mo file, a package's folder, Modelica text, or the name of a library's class; also
    a file (.bmo) or text of Base Modelica.
    class_name: dotted; without it the last class of the file.
    fix: parameter values, by dotted name, put in as modifiers.
    libraries: more places of libraries, besides MODELICAPATH and the usual folders.
    inputs: of a function: those of its inputs that vary; the others become parameters.
    frontend: what reads Modelica: `rumoca`, or `openmodelica` where `omc` is on the PATH.
    cache: keep the result on disk and use it again while nothing has changed.
    time_limit: seconds that it may take; without it ESTIMICA_LOAD_SECONDS, or 120.
    """
    base = base_text(source)
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
    if frontend != "rumoca":
        hint = did_you_mean(frontend, ["rumoca", "openmodelica"])
        raise SourceError(
            "S224", f"no front end '{frontend}'{hint}; there are rumoca, openmodelica"
        )
    try:
        return _load_rumoca(source, class_name, fix, libraries, inputs, cache, time_limit)
    except RecursionError:
        name = class_name or str(source).strip().splitlines()[0][:40]
        raise SourceError(
            "S045",
            f"'{name}': classes, chains of extends or brackets are nested too deeply; flatten them",
        ) from None


def _load_rumoca(
    source: str | Path,
    class_name: str | None,
    fix: Mapping[str, FixedValue] | None,
    libraries: Sequence[Path],
    inputs: Sequence[str],
    cache: bool,
    time_limit: float | None,
) -> FlatSystem:
    request = read_request(source, class_name, [Path(p) for p in libraries])
    function = request.class_name if is_function(request) else ""
    if function:
        request = function_as_model(request, inputs)
    fixed = dict(fix or {})
    key = _key(request, fixed)
    system = read_flat(key) if cache else None
    if system is None:
        with load_limits(request.class_name, time_limit) as watch:
            system = _loaded(request, fixed, cache, watch)
        if cache:
            write_flat(key, system)
    if function:
        system = _of_function(system, function)
        key = key_of("function", key)
    return system.named(key if cache else "")


def _of_function(system: FlatSystem, name: str) -> FlatSystem:
    """The model of a function; what it is not given is not a number until it is tuned."""
    variables = tuple(
        dataclasses.replace(v, binding=ex.const(float("nan")))
        if v.variability is Variability.PARAMETER and v.binding is None
        else v
        for v in system.variables
    )
    return dataclasses.replace(system, name=name, of_function=True, variables=variables)


def _key(request: Request, fix: Mapping[str, FixedValue]) -> str:
    return key_of(
        request.class_name,
        request.document,
        request.label,
        sorted((k, type(v).__name__, v) for k, v in fix.items()),
        [library.state() for library in request.libraries],
    )


def _loaded(
    request: Request, fix: Mapping[str, FixedValue], cache: bool, watch: LoadLimits
) -> FlatSystem:
    if not request.document:
        check_class(request)
    with watch.at("Estimica looks for what the Modelica compiler would drop"):
        notes = checked(request)
    if not fix:
        return _flattened(request, {}, None, watch, notes)
    plain = _plain_or_none(request, cache, watch, notes)
    if plain is not None:
        check_fixed_names(fix, plain)
    whole = {k: v for k, v in fix.items() if "[" not in k}
    elements = {k: v for k, v in fix.items() if "[" in k}
    system = plain
    if whole or system is None:
        system = _flattened(request, whole, plain, watch, notes)
    return _with_elements(system, elements)


def _plain_or_none(
    request: Request, cache: bool, watch: LoadLimits, notes: tuple[str, ...]
) -> FlatSystem | None:
    """The class without modifiers; None where it needs them to make sense."""
    key = _key(request, {})
    system = read_flat(key) if cache else None
    if system is None:
        try:
            system = _flattened(request, {}, None, watch, notes)
        except (SourceError, UnsupportedError):
            return None
        if cache:
            write_flat(key, system)
    return system


def _flattened(
    request: Request,
    fix: Mapping[str, FixedValue],
    plain: FlatSystem | None,
    watch: LoadLimits,
    notes: tuple[str, ...],
) -> FlatSystem:
    everything = whole(request.libraries)
    first, _ = Attempt(request).document(fix, plain)
    part = selected(request.libraries, [first])
    missed: tuple[str, ...] = ()
    attempt = Attempt(request, _large_library_files(request, part))
    refused: Refusal | None = None
    while True:
        text, model = attempt.document(fix, plain)
        if part is not None and attempt.changed_files:
            part = selected(request.libraries, [first], attempt.changed_files, missed)
        selection = part or everything
        try:
            flat = flatten(text, model, selection.roots, watch)
            with watch.at("Estimica reads the equations"):
                system = _understood(flat, attempt, text, selection)
                return dataclasses.replace(system, notes=(*system.notes, *notes))
        except OuterNames as unknown:
            following = attempt.knowing(unknown.names)
        except Refusal as refusal:
            refused = refused or refusal
            if part is not None and attempt.level == 0 and may_lack_files(refusal):
                # something may be missing that the names in the texts did not lead to
                more = tuple(n for n in unknown_names(refusal) if n not in missed)
                missed += more
                part = selected(request.libraries, [first], None, missed) if more else None
                attempt = Attempt(request, _large_library_files(request, part))
                if part is None:
                    watch.stage = "the Modelica compiler reads whole libraries"
                continue
            following = attempt.after(refusal.message)
        if following is None:
            assert refused is not None
            raise explained(refused, request) from None
        attempt = following


def _large_library_files(request: Request, part: Selection | None) -> tuple[Path, ...]:
    """The selected files of libraries that stay with the compiler."""
    if part is None:
        return ()
    return tuple(sorted(f for copy, f in part.originals.items() if copy != f))


def _understood(
    flat: Mapping[str, Any], attempt: Attempt, sent: str, selection: Selection
) -> FlatSystem:
    """The flat system; the compiler's output may hold forms that nobody has foreseen."""
    try:
        return _decoded(flat, attempt, sent, selection)
    except (LookupError, TypeError, AttributeError, AssertionError, ArithmeticError) as error:
        request = attempt.request
        raise SourceError(
            "S034",
            f"class '{request.class_name}' ({request.label or 'text'}): what the Modelica compiler "
            f"made of it could not be read ({type(error).__name__}: {error}); leave components out "
            "until it loads, and report what remains",
        ) from error


def _decoded(
    flat: Mapping[str, Any], attempt: Attempt, sent: str, selection: Selection
) -> FlatSystem:
    request = attempt.request
    label = Path(request.label).name if request.label else ""
    paths = {source_number(str(copy)): f for copy, f in selection.originals.items()}
    mark_derivatives(flat, outline(request.document))
    hidden = attempt.hidden
    translate = hidden.document.original_offset if hidden is not None else None
    files = SourceFiles(
        request.document, label, paths, sent, translate, request.pieces, attempt.read_here
    )
    system = decode(flat, request.class_name, files, request.label or "text", hidden)
    found = request.outlined.find(request.local_name)
    return dataclasses.replace(
        system,
        description=system.description or (found.description if found else ""),
        experiment=experiment_of(request.outlined, request.local_name),
        notes=(*system.notes, *attempt.notes()),
    )


def _with_elements(system: FlatSystem, elements: Mapping[str, FixedValue]) -> FlatSystem:
    """Single elements of arrays, which no modifier can reach, take their value here."""
    if not elements:
        return system
    variables = []
    for variable in system.variables:
        if variable.name in elements:
            value = elements[variable.name]
            if variable.evaluated:
                raise SourceError(
                    "S022",
                    f"fix: '{variable.name}' cannot be set alone, because {variable.evaluated}; "
                    "set the whole array in the source",
                )
            if isinstance(value, str):
                raise SourceError("S022", f"fix: '{variable.name}' takes a number, not '{value}'")
            variable = dataclasses.replace(variable, binding=ex.const(float(value)))
        variables.append(variable)
    return dataclasses.replace(system, variables=tuple(variables))
