"""Extras: libraries that only some file formats need, asked for when such a file is met."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from estimica.base.errors import DataError


def import_extra(module: str, path: Path) -> Any:
    """The module, or an error that says how to install it."""
    try:
        return import_module(module)
    except ImportError:
        raise DataError(
            "D017",
            f"reading '{path}' needs {module}; install it with: pip install 'estimica[data]'",
        ) from None
