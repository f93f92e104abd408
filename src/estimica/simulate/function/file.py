"""Functions of a Python file, named as "file.py:function", with what the file declares."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from estimica.base.code.reference import CodeRefusedError
from estimica.base.code.run import LoadedCode, run_code
from estimica.base.code.trusted import CodeMissingError, TrustedCode, trusted_code
from estimica.base.errors import EstimicaError, ModelError
from estimica.base.suggest import did_you_mean, did_you_mean_file


@dataclass(frozen=True, eq=False)
class FileFunction:
    """A function with the `parameters`, `inputs` and `outputs` that its file declares."""

    function: Callable[..., Any]
    parameters: Mapping[str, float] | Sequence[str] | None
    inputs: Sequence[str] | None
    outputs: Sequence[str] | None


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
    ran = _run(code)
    content, name, file = ran.names, code.function, code.entry.name
    functions = {
        n: f
        for n, f in content.items()
        if inspect.isfunction(f) and f.__module__ == ran.module and not n.startswith("_")
    }
    if not name and len(functions) == 1:
        name = next(iter(functions))
    found = content.get(name)
    if not callable(found):
        listed = f'; write source = "{file}:function" (there are {", ".join(functions)})'
        asked = f"has no function '{name}'" if name else "holds several functions or none"
        hint = did_you_mean(name, list(functions)) or listed
        raise ModelError("M141", f"'{file}' {asked}{hint}")
    parameters, inputs, outputs = (content.get(n) for n in ("parameters", "inputs", "outputs"))
    return FileFunction(found, parameters, inputs, outputs)


def _run(code: TrustedCode) -> LoadedCode:
    file = code.entry.name
    try:
        return run_code(code)
    except EstimicaError:
        raise
    except UnicodeDecodeError as error:
        raise ModelError("M140", f"cannot read '{code.spelt}': {error}") from None
    except SyntaxError as error:
        name = Path(error.filename or file).name
        raise ModelError("M142", f"'{name}', line {error.lineno}: {error.msg}") from None
    except Exception as error:  # the user's code may raise anything
        raise ModelError(
            "M142", f"'{file}' raised {type(error).__name__} while it was read: {error}"
        ) from None
