"""One class being read: its limits, room for recursion, and faults of ours told as errors."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from estimica.base.errors import SourceError
from estimica.source.evaluate.expressions import MISFITS
from estimica.source.evaluate.values import ValueMismatch
from estimica.source.limits import deep_recursion, load_limits


@contextlib.contextmanager
def loading(name: str, seconds: float | None = None) -> Iterator[None]:
    """Inside, the class `name` is read, in at most so many seconds."""
    try:
        with deep_recursion(), load_limits(name, seconds):
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
