"""Modelica by the compiler: from a request to a FlatSystem, with its refusals in plain words."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from estimica.base.errors import SourceError, UnsupportedError
from estimica.base.suggest import did_you_mean
from estimica.flat import expression as ex
from estimica.flat.system import FlatSystem, Variability
from estimica.source.cache import key_of, read_flat, write_flat
from estimica.source.decode.origins import DOCUMENT, SourceFiles, source_number
from estimica.source.decode.system import decode
from estimica.source.function_model import function_as_model, is_function
from estimica.source.libraries.search import library_folders
from estimica.source.limits import LoadLimits, load_limits
from estimica.source.request import (
    FixedValue,
    Request,
    check_class,
    check_fixed_names,
    read_request,
)
from estimica.source.rumoca.attempt import Attempt
from estimica.source.rumoca.dropped_modifiers import checked
from estimica.source.rumoca.hidden import OuterNames
from estimica.source.rumoca.process import RUMOCA_VERSION, Refusal, flatten
from estimica.source.rumoca.selection import Selection, selected, whole
from estimica.source.syntax.outline import ClassOutline, Outline, experiment_of, outline

#: the parts of a flat model that are read
_NEEDED = frozenset(
    (
        "predefined_types",
        "effective_types",
        "enumeration_type_roots",
        "variables",
        "variable_type_names",
        "variable_final_flags",
        "equations",
        "structured_equations",
        "assert_equations",
        "initial_equations",
        "initial_structured_equations",
        "initial_assert_equations",
        "algorithms",
        "initial_algorithms",
        "when_chains",
        "functions",
        "model_description",
        "top_level_input_components",
        "enum_literal_ordinals",
    )
)
#: those that may be there and say nothing that is needed
_IGNORED = frozenset(
    (
        "predefined_string_declaration",
        "enumeration_types",
        "type_ids_by_def_id",
        "record_instances",
        "record_types",
        "is_partial",
        "class_type",
        "definite_roots",
        "branches",
        "optional_edges",
        "potential_roots",
        "top_level_connectors",
        "oc_break_edge_scalar_count",
        "instance_relations",
        "parameter_branch_selections",
        "unchecked",
    )
)

_PLACE = re.compile(rf"\[{re.escape(DOCUMENT)}:(\d+):\d+\]")
_UNRESOLVED = re.compile(r"unresolved (?:\w+ )?(?:reference|call): '([^']+)'")
_MISSING = re.compile(r"(?:unresolved [\w ]+|base class not found): ['`]([\w.]+)['`]")
#: refusals that have nothing to do with what is there and what is not
_UNRELATED = re.compile(r"unsupported `|is not allowed \(MLS")
_NOISE = (
    re.compile(r"^\w+ failed: "),
    re.compile(r"^\S+ could not be compiled: "),
    re.compile(r"^\S+ failed in \w+: "),
)


def load_rumoca(
    source: str | Path,
    class_name: str | None,
    fix: Mapping[str, FixedValue] | None,
    libraries: Sequence[Path],
    inputs: Sequence[str],
    cache: bool,
    time_limit: float | None,
) -> FlatSystem:
    """The class, flattened by the compiler; the arguments are those of `load_flat`."""
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
            if part is not None and attempt.level == 0 and _may_lack_files(refusal):
                # something may be missing that the names in the texts did not lead to
                more = tuple(n for n in _unknown_names(refusal) if n not in missed)
                missed += more
                part = selected(request.libraries, [first], None, missed) if more else None
                attempt = Attempt(request, _large_library_files(request, part))
                if part is None:
                    watch.stage = "the Modelica compiler reads whole libraries"
                continue
            following = attempt.after(refusal.message)
        if following is None:
            assert refused is not None
            raise _explained(refused, request) from None
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
    _check_keys(flat)
    _mark_derivatives(flat, outline(request.document))
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


def _check_keys(flat: Mapping[str, Any]) -> None:
    """Refuse a flat JSON of another make than the one this decoder was written for."""
    missing = _NEEDED - flat.keys()
    unknown = {k for k in flat.keys() - _NEEDED - _IGNORED if flat[k] not in (None, [], {}, False)}
    if missing or unknown:
        raise SourceError(
            "S008",
            f"the compiler's flat model has other parts than that of rumoca {RUMOCA_VERSION}: "
            f"missing {sorted(missing)}, unknown {sorted(unknown)}; "
            f"run: pip install rumoca=={RUMOCA_VERSION}",
        )


def _mark_derivatives(flat: Mapping[str, Any], outlined: Outline) -> None:
    """Tell the functions of `flat` by which of their inputs they are derivatives.

    For `g = der(f, x)` the compiler hands over f's body.
    """
    for definition in outlined.classes:
        inputs = _differentiated(definition, outlined)
        for name, function in flat["functions"].items() if inputs else ():
            if definition.name == name or name.endswith(f".{definition.name}"):
                function["derivative_of"] = name
                function["derivative_by"] = inputs


def _differentiated(definition: ClassOutline, outlined: Outline) -> list[str]:
    """The inputs of a short definition by `der`; none for any other class."""
    words = [t.text for t in outlined.tokens[definition.first : definition.last]]
    if definition.word != "function" or "=" not in words:
        return []
    after = words[words.index("=") + 1 :]
    if after[:2] != ["der", "("]:
        return []
    inside = after[2 : after.index(")")] if ")" in after else []
    return [word for before, word in pairwise(inside) if before == ","]


# --- refusals -----------------------------------------------------------------------------------


def _explained(refusal: Refusal, request: Request) -> SourceError:
    """The error that tells the user what the compiler did not accept, and where."""
    where = f"class '{request.class_name}' ({request.label or 'text'}{_line(refusal, request)})"
    message = _tidied(refusal.message)
    unresolved = _UNRESOLVED.search(message)
    if unresolved is not None:
        return SourceError("S031", f"{where}: {_unknown(unresolved.group(1), request)}")
    if "failed in ToDae" in refusal.message:
        return SourceError(
            "S032",
            f"{where}: the Modelica compiler (rumoca {RUMOCA_VERSION}) does not support it: "
            f"{message}; rewrite that part with other means of the language",
        )
    return SourceError("S030", f"{where}: {message}")


def _may_lack_files(refusal: Refusal) -> bool:
    """Whether the compiler might accept the same source with more of a library's files."""
    return "failed in ToDae" not in refusal.message and not _UNRELATED.search(refusal.message)


def _unknown_names(refusal: Refusal) -> list[str]:
    """The names that the compiler did not find."""
    return list(dict.fromkeys(name for name in _MISSING.findall(refusal.message) if name))


def _unknown(name: str, request: Request) -> str:
    head = name.partition(".")[0]
    known = {t.text for t in request.outlined.tokens if t.kind == "name"} - {name}
    if head in ("Modelica", "ModelicaServices", "Complex") and not any(
        library.name == head for library in request.libraries
    ):
        folders = ", ".join(str(f) for f in library_folders()) or "none"
        return (
            f"'{name}' is of a library that was not found (library folders: {folders}); "
            "set MODELICAPATH to the folder that holds it"
        )
    return f"nothing is called '{name}'{did_you_mean(name, known)}"


def _line(refusal: Refusal, request: Request) -> str:
    for text in (refusal.message, *refusal.findings):
        found = _PLACE.search(text)
        if found is not None:
            return f", line {found.group(1)}"
    unresolved = _UNRESOLVED.search(refusal.message)
    if unresolved is not None and request.document:
        last = unresolved.group(1).rpartition(".")[2]
        for token in request.outlined.tokens:
            if token.text == last:
                return f", line {request.text.count(chr(10), 0, token.start) + 1}"
    return ""


def _tidied(message: str) -> str:
    text = message.split("\nRelated failures")[0]
    for noise in _NOISE:
        text = noise.sub("", text)
    return " ".join(_PLACE.sub("", text).split())
