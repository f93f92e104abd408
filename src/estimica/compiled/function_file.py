"""Functions of a Python file, named as "file.py:function", with what the file declares."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from estimica.base.errors import ModelError
from estimica.base.suggest import did_you_mean, did_you_mean_file
from estimica.base.user_code import Ran, read_python, run_file


@dataclass(frozen=True, eq=False)
class FileFunction:
    """A function with the `parameters`, `inputs` and `outputs` that its file declares."""

    function: Callable[..., Any]
    parameters: Mapping[str, float] | Sequence[str] | None
    inputs: Sequence[str] | None
    outputs: Sequence[str] | None
    texts: Mapping[str, str]  # of the file and of those it imports from beside it


def is_function_source(source: str) -> bool:
    """Whether a model's source means a Python function."""
    return source.endswith(".py") or ".py:" in source


def read_function(
    source: str, folder: Path, texts: Mapping[str, str] | None = None
) -> FileFunction:
    """The function that "file.py:function" means; the only one of a file needs no name.

    `texts` are the files that belong to it, by relative paths, where they are known already.
    """
    file, _, name = source.partition(".py:") if ".py:" in source else (source[:-3], "", "")
    path = folder / f"{file}.py"
    ran = _run(path, texts or {path.name: _text(path, f"{file}.py")})
    content = ran.names
    functions = {
        n: f
        for n, f in content.items()
        if inspect.isfunction(f) and f.__module__ == ran.module and not n.startswith("_")
    }
    if not name and len(functions) == 1:
        name = next(iter(functions))
    found = content.get(name)
    if not callable(found):
        listed = f'; write source = "{path.name}:function" (there are {", ".join(functions)})'
        asked = f"has no function '{name}'" if name else "holds several functions or none"
        hint = did_you_mean(name, list(functions)) or listed
        raise ModelError("M141", f"'{path.name}' {asked}{hint}")
    parameters, inputs, outputs = (content.get(n) for n in ("parameters", "inputs", "outputs"))
    return FileFunction(found, parameters, inputs, outputs, ran.texts)


def _text(path: Path, spelt: str) -> str:
    if not path.is_file():
        raise ModelError("M140", f"there is no file '{spelt}'{did_you_mean_file(path)}")
    try:
        return read_python(path)
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        raise ModelError("M140", f"cannot read '{spelt}': {error}") from None


def _run(path: Path, texts: Mapping[str, str]) -> Ran:
    """Run a file; its own folder can be imported from."""
    try:
        return run_file(path, texts)
    except SyntaxError as error:
        name = Path(error.filename or path).name
        raise ModelError("M142", f"'{name}', line {error.lineno}: {error.msg}") from None
    except Exception as error:  # the user's code may raise anything
        raise ModelError(
            "M142", f"'{path.name}' raised {type(error).__name__} while it was read: {error}"
        ) from None
