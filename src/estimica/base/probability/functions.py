"""Functions of distributions: SciPy's own, without what else `scipy.special` loads.

That package takes longer to import than a small fit takes: it writes the documentation of all its
functions anew, and loads tools of NumPy that nobody asks for, while the compiled functions are
ready in a few milliseconds. They are the same functions, to the last bit.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

import scipy

_PACKAGE = "scipy.special"
_COMPILED = "scipy.special._ufuncs"


class _Unopened(ModuleType):
    """Stands for the package while its compiled functions are imported.

    Whoever asks for anything else meanwhile, in another thread, gets it from the package itself.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(_whole(), name)


def compiled_functions() -> ModuleType:
    """SciPy's compiled functions; the whole package where they cannot be had alone."""
    loaded = sys.modules.get(_COMPILED)
    if loaded is not None:
        return loaded
    spec = PathFinder.find_spec(_PACKAGE, scipy.__path__)
    if spec is None or spec.submodule_search_locations is None:
        return _whole()
    unopened = _Unopened(_PACKAGE)
    unopened.__path__ = list(spec.submodule_search_locations)
    if sys.modules.setdefault(_PACKAGE, unopened) is not unopened:
        return _whole()
    try:
        return import_module(_COMPILED)
    except (ImportError, AttributeError):  # a version of SciPy that is built in another way
        return _whole()
    finally:
        _open(unopened)


def _open(unopened: ModuleType) -> None:
    """From here on the name means the package itself."""
    if sys.modules.get(_PACKAGE) is unopened:
        del sys.modules[_PACKAGE]


def _whole() -> ModuleType:
    present = sys.modules.get(_PACKAGE)
    if isinstance(present, _Unopened):
        _open(present)
    return import_module(_PACKAGE)


_functions = compiled_functions()

#: normal: Φ(x), ln Φ(x), and their inverses
ndtr, log_ndtr = _functions.ndtr, _functions.log_ndtr
ndtri, ndtri_exp = _functions.ndtri, _functions.ndtri_exp
#: Student's t: P(T < t) of df, its inverse in t and in df
stdtr, stdtrit, stdtridf = _functions.stdtr, _functions.stdtrit, _functions.stdtridf
#: χ²: P(X > x) of df and its inverse; of the gamma distribution P(X > x), and P(X < x) inverted
chdtrc, chdtri = _functions.chdtrc, _functions.chdtri
gammaincc, gammaincinv = _functions.gammaincc, _functions.gammaincinv
#: F: P(X > x) of both df, and the inverse of P(X < x); of the beta distribution P(X > x)
fdtrc, fdtri, betaincc = _functions.fdtrc, _functions.fdtri, _functions.betaincc
