"""The libraries that sampling needs, which come with `pip install 'estimica[sample]'`."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

from estimica.base.errors import InferError


def nutpie() -> Any:
    """The no-U-turn sampler."""
    _imported("nutpie.compiled_pyfunc")
    return _imported("nutpie")


def emcee() -> Any:
    """The ensemble sampler."""
    return _imported("emcee")


def arviz() -> Any:
    """Diagnostics of chains, and the form in which others read them."""
    return _imported("arviz")


def _imported(name: str) -> Any:
    try:
        with warnings.catch_warnings():
            # ArviZ announces its next version whenever it is imported
            warnings.simplefilter("ignore", FutureWarning)
            return import_module(name)
    except ImportError as error:
        raise InferError(
            "I702",
            f"sampling needs '{name.partition('.')[0]}', which cannot be imported ({error}); "
            "install it with: pip install 'estimica[sample]'",
        ) from error
