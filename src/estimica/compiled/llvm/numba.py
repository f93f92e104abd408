"""The one door to Numba, which would else take settings from a file of the current folder.

`.numba_config.yaml` there may name a folder for compiled code, and what lies in that is executed.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator


@contextlib.contextmanager
def _without_yaml() -> Iterator[None]:
    """Numba reads the file only if it can import yaml; else it warns."""
    known = sys.modules.get("yaml")
    sys.modules["yaml"] = None  # type: ignore[assignment]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        del sys.modules["yaml"]
        if known is not None:
            sys.modules["yaml"] = known


# a program that has imported Numba itself has chosen its settings
with contextlib.nullcontext() if "numba" in sys.modules else _without_yaml():
    from llvmlite import ir
    from numba import njit, types
    from numba.core import config
    from numba.core.ccallback import CFunc
    from numba.core.compiler import Compiler
    from numba.core.typing.templates import make_intrinsic_template

if not config._HAVE_YAML:
    config._config_fname = ""  # it is looked for again with every function, and warned of

__all__ = [
    "CFunc",
    "Compiler",
    "config",
    "ir",
    "make_intrinsic_template",
    "njit",
    "types",
]
