"""Functions of a Python file, named as "file.py:function", with what the file declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from estimica.base.code.load import CodeFailedError, FunctionMissingError, load_function
from estimica.base.code.reference import CodeRefusedError
from estimica.base.code.trusted import CodeMissingError, TrustedCode, trusted_code
from estimica.base.errors import ModelError
from estimica.base.suggest import did_you_mean_file


@dataclass(frozen=True, eq=False)
class FileFunction:
    """A function with the `parameters`, `inputs`, `outputs` and `states` that its file declares."""

    function: Callable[..., Any]
    parameters: Mapping[str, float] | Sequence[str] | None
    inputs: Sequence[str] | None
    outputs: Sequence[str] | None
    states: Mapping[str, str] | None


def code_of_source(source: str, folder: Path) -> TrustedCode:
    """The code that a model's source "file.py:function" means; the file is relative to `folder`."""
    try:
        return trusted_code(source, folder)
    except CodeMissingError as error:
        path = folder / f"{source.rpartition('.py')[0]}.py"
        raise ModelError("M140", f"{error}{did_you_mean_file(path)}") from None
    except CodeRefusedError as error:
        raise ModelError("M143", f"source {error}") from None


def read_function(code: TrustedCode) -> FileFunction:
    """The function of a code; the only one of a file needs no name."""
    try:
        loaded = load_function(code, only=True)
    except FunctionMissingError as error:
        raise ModelError("M141", str(error)) from None
    except CodeFailedError as error:
        raise ModelError("M142", str(error)) from None
    except CodeRefusedError as error:
        raise ModelError("M140", str(error)) from None
    names = (loaded.names.get(n) for n in ("parameters", "inputs", "outputs", "states"))
    return FileFunction(loaded.call, *names)
