"""Library: libsbml, asked for when an SBML model or a PEtab formula is met."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from estimica.base.errors import SourceError


def libsbml(what: str) -> Any:
    """The module, or an error that says how to install it; `what` is what needs it."""
    try:
        return import_module("libsbml")
    except ImportError:
        raise SourceError(
            "S300",
            f"{what} needs python-libsbml; install it with: pip install 'estimica[petab]'",
        ) from None
