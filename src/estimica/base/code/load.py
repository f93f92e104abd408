"""Functions that a study names as "file.py:function": run here, and refused here, in one way.

A model, a criterion of a fit and one of a design are such functions. What is wrong with one is said
in the same words for all; who asked for it adds where it is named, and the code of the error.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from estimica.base.code.reference import CodeRefusedError
from estimica.base.code.run import LoadedCode, run_code
from estimica.base.code.trusted import TrustedCode
from estimica.base.errors import EstimicaError
from estimica.base.suggest import did_you_mean


class CodeFailedError(CodeRefusedError):
    """A file that cannot be run, or that raised something while it was."""


class FunctionMissingError(CodeRefusedError):
    """A file that has no such function."""


@dataclass(frozen=True, eq=False)
class LoadedFunction:
    """A function, and all names of its file."""

    call: Callable[..., Any]
    names: Mapping[str, Any]


def load_function(code: TrustedCode, *, only: bool = False) -> LoadedFunction:
    """Run a code and give its function; with `only` the only one of a file needs no name.

    CodeRefusedError where there is none; errors of the user's, as for code that nobody agreed to,
    pass as they are.
    """
    file, name = code.entry.name, code.function
    if not name and not only:
        raise FunctionMissingError(f"'{file}' is named without its function; write {file}:function")
    ran = _run(code)
    functions = [
        n
        for n, f in ran.names.items()
        if inspect.isfunction(f) and f.__module__ == ran.module and not n.startswith("_")
    ]
    if not name and len(functions) == 1:
        name = functions[0]
    call = ran.names.get(name)
    if not callable(call):
        why = f"has no function '{name}'" if name else "holds several functions or none"
        known = f" (there are {', '.join(functions)})" if functions else ""
        hint = did_you_mean(name, functions) or f"; write {file}:function{known}"
        raise FunctionMissingError(f"'{file}' {why}{hint}")
    return LoadedFunction(call, ran.names)


def _run(code: TrustedCode) -> LoadedCode:
    file = code.entry.name
    try:
        return run_code(code)
    except EstimicaError:
        raise
    except UnicodeDecodeError as error:
        raise CodeRefusedError(f"'{code.spelt}' cannot be read: {error}") from None
    except SyntaxError as error:
        name = Path(error.filename or file).name
        line = f", line {error.lineno}" if error.lineno else ""  # none for a wrong encoding
        raise CodeFailedError(f"'{name}'{line}: {error.msg}") from None
    except Exception as error:  # the user's code may raise anything
        raise CodeFailedError(
            f"'{file}' raised {type(error).__name__} while it was read: {error}"
        ) from None
