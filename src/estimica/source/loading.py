"""One class being read: its limits, room for recursion, and faults of ours told as errors."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from estimica.base.errors import SourceError
from estimica.source.evaluate.expressions import MISFITS
from estimica.source.evaluate.values import ValueMismatch
from estimica.source.limits import load_limits

#: calls of Python in calls: instances in instances, expressions in expressions; a model that is
#: nested this deeply is refused before (500 brackets, 100 components), and some 20 calls are one
#: level of either
_RECURSION = 20_000


@contextlib.contextmanager
def loading(name: str, seconds: float | None = None) -> Iterator[None]:
    """Inside, the class `name` is read, in at most so many seconds."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _RECURSION))
    try:
        with load_limits(name, seconds):
            yield
    except RecursionError:
        raise SourceError(
            "S045",
            f"'{name}': classes, chains of extends or brackets are nested too deeply; flatten them",
        ) from None
    except (ValueMismatch, *MISFITS) as error:
        raise SourceError(
            "S034",
            f"class '{name}' could not be read ({type(error).__name__}: {error}); leave components "
            "out until it loads, and report what remains",
        ) from error
    finally:
        sys.setrecursionlimit(before)
