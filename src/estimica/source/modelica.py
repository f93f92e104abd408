"""Modelica as flat systems: from the cache, or read by the front end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from estimica.base.code.numeric import NumericCode, know_codes
from estimica.flat.system import FlatSystem
from estimica.source.cache import key_of, read_flat, write_flat
from estimica.source.fixed_values import FixedValue
from estimica.source.request import Request, read_request


def load_modelica(
    source: str | Path,
    class_name: str | None,
    fix: Mapping[str, FixedValue] | None,
    libraries: Sequence[Path],
    inputs: Sequence[str],
    cache: bool,
    time_limit: float | None,
    functions: Mapping[str, NumericCode] | None = None,
) -> FlatSystem:
    """The class as scalar variables and equations; the arguments are those of `load_flat`."""
    request = read_request(source, class_name, [Path(p) for p in libraries])
    fixed = dict(fix or {})
    key = _key(request, fixed, inputs, functions or {})
    codes = tuple(code for f in (functions or {}).values() for code in f.codes)
    know_codes(codes)
    system = read_flat(key) if cache else None
    if system is None:
        # what reads Modelica is a tenth of a second of imports, which a known class can spare
        from estimica.source.loading import loading

        with loading(request.class_name, time_limit):
            from estimica.source.front_end import read_class

            system = read_class(request, fixed, inputs, functions)
        if cache:
            write_flat(key, system)
    return replace(system, codes=codes).named(key if cache else "")


def _key(
    request: Request,
    fix: Mapping[str, FixedValue],
    inputs: Sequence[str],
    functions: Mapping[str, NumericCode],
) -> str:
    return key_of(
        request.class_name,
        request.label,
        request.modification,
        sorted((k, type(v).__name__, v) for k, v in fix.items()),
        list(inputs),
        request.state(),
        sorted((name, f.content, f.spelt) for name, f in functions.items()),
    )
