"""Functions of a Modelica class that Python computes, as a user names them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from estimica.base.code.numeric import NumericCode
from estimica.base.code.trusted import TrustedCode
from estimica.base.errors import ModelError

#: "file.py:function"; or that as "value", and "derivatives" likewise
FunctionName = str | Mapping[str, str]
Functions = Mapping[str, FunctionName]


def function_codes(
    functions: Functions, folder: Path, known: Mapping[str, TrustedCode] | None = None
) -> dict[str, NumericCode]:
    """The programs of functions by the functions' full names; files are relative to `folder`.

    `known` are programs that were read already. ModelError where one is missing or cannot be run.
    """
    return {name: _code(name, named, folder, known or {}) for name, named in functions.items()}


def _code(
    name: str, named: FunctionName, folder: Path, known: Mapping[str, TrustedCode]
) -> NumericCode:
    from estimica.simulate.function.file import code_of_source, read_function

    spelt = {"value": named} if isinstance(named, str) else dict(named)
    texts = all(isinstance(text, str) for text in spelt.values())
    if "value" not in spelt or not set(spelt) <= {"value", "derivatives"} or not texts:
        raise ModelError(
            "M144",
            f"functions: '{name}' is {named!r}; write \"file.py:function\", or "
            '{ value = "file.py:function", derivatives = "file.py:function" }',
        )
    codes = [known.get(text) or code_of_source(text, folder) for text in spelt.values()]
    for code in codes:
        if not code.function:
            raise ModelError(
                "M144", f"functions: '{name}' names a file only; write {code.spelt}:function"
            )
        read_function(code)
    return NumericCode(**dict(zip(spelt, codes, strict=True)))


def named_functions(codes: Mapping[str, NumericCode]) -> tuple[tuple[str, ...], ...]:
    """Name, program and perhaps that of derivatives, with absolute paths."""
    return tuple(
        (name, *(f"{code.folder / code.entry.name}:{code.function}" for code in numeric.codes))
        for name, numeric in codes.items()
    )
