"""What every item of a piece of work needs and what is dear to make: a compiled model, data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from estimica.base.errors import EstimicaError, ExecuteError
from estimica.execute.outcome import error_text

C = TypeVar("C")


@dataclass(frozen=True, slots=True, eq=False)
class Context(Generic[C]):
    """`build` makes it, once in every worker process, and must be picklable
    (`functools.partial(load, "Boiler.mo")`); `built` is what this process has already."""

    build: Callable[[], C]
    built: C | None = None

    def here(self) -> C:
        """The context for work in this process."""
        return build_context(self.build) if self.built is None else self.built


def build_context(build: Callable[[], C]) -> C:
    """What `build` makes; any error it raises is one that says so."""
    try:
        return build()
    except (EstimicaError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise ExecuteError("X004", f"the work cannot be prepared: {error_text(error)}") from error


def _nothing() -> None:
    return None


#: for tasks that need no context: they are given None
NO_CONTEXT: Context[None] = Context(_nothing)
