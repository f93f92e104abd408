"""Functions of a Python file, named as "file.py:function", with what the file declares."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from estimica.base.errors import ModelError
from estimica.base.suggest import did_you_mean, did_you_mean_file

MODULE = "<estimica model>"  # what a file that is read for a model is called


@dataclass(frozen=True, eq=False)
class FileFunction:
    """A function with the `parameters`, `inputs` and `outputs` that its file declares."""

    function: Callable[..., Any]
    parameters: Mapping[str, float] | Sequence[str] | None
    inputs: Sequence[str] | None
    outputs: Sequence[str] | None
    text: str  # of the file


def is_function_source(source: str) -> bool:
    """Whether a model's source means a Python function."""
    return source.endswith(".py") or ".py:" in source


def read_function(source: str, folder: Path, text: str | None = None) -> FileFunction:
    """The function that "file.py:function" means; the only one of a file needs no name.

    `text` is what the file holds, where that is known already.
    """
    file, _, name = source.partition(".py:") if ".py:" in source else (source[:-3], "", "")
    path = folder / f"{file}.py"
    if text is None:
        text = _text(path, f"{file}.py")
    content = _run(path, text)
    functions = {
        n: f
        for n, f in content.items()
        if inspect.isfunction(f) and f.__module__ == MODULE and not n.startswith("_")
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
    return FileFunction(found, parameters, inputs, outputs, text)


def _text(path: Path, spelt: str) -> str:
    if not path.is_file():
        raise ModelError("M140", f"there is no file '{spelt}'{did_you_mean_file(path)}")
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError("M140", f"cannot read '{spelt}': {error}") from None


def _run(path: Path, text: str) -> dict[str, Any]:
    """The names of a file; its own folder can be imported from."""
    sys.path.insert(0, str(path.parent))
    try:
        names: dict[str, Any] = {"__name__": MODULE, "__file__": str(path)}
        exec(compile(text, str(path), "exec"), names)
        return names
    except SyntaxError as error:
        raise ModelError("M142", f"'{path.name}', line {error.lineno}: {error.msg}") from None
    except Exception as error:  # the user's code may raise anything
        raise ModelError(
            "M142", f"'{path.name}' raised {type(error).__name__} while it was read: {error}"
        ) from None
    finally:
        sys.path.remove(str(path.parent))
