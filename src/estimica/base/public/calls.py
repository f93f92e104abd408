"""Public calls: functions as the user calls them, with a bar where work is long, and plain words
for a keyword that does not exist.

Rooms call each other's functions as they are: a bar is shown once, for what the user has asked.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import wraps
from typing import Any, TypeVar

from estimica.base.public.bar import bar_for, waiting_for
from estimica.base.suggest import did_you_mean

T = TypeVar("T")
C = TypeVar("C")
#: functions that may take long and cannot tell how far they are
LONG = ("load_model", "second_model", "backcalculate")
#: how long work tells how far it is: a function of its own, yes or no; by default where it is seen
ProgressChoice = Callable[[T], None] | bool | None


def told(progress: ProgressChoice[T]) -> Callable[[T], None] | None:
    """The function that is told of progress, where there is one."""
    return None if isinstance(progress, bool) else progress


def without_none(**given: object) -> dict[str, object]:
    """Settings that were given: the others are those of the study."""
    return {name: value for name, value in given.items() if value is not None}


def public_call(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as the package offers it under `name`."""
    signature = inspect.signature(function)
    keywords = [p.name for p in signature.parameters.values() if p.kind is not p.POSITIONAL_ONLY]
    shows = "progress" in signature.parameters

    @wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        require_keywords(name, keywords, named)
        if not shows:
            with waiting_for(name) if name in LONG else nullcontext():
                return function(*given, **named)
        with bar_for(name, named.get("progress")) as tell:
            return function(*given, **{**named, "progress": tell})

    # where the user has it from: so it is found again when it is sent to another process
    call.__module__, call.__qualname__ = "estimica", name
    return call


def require_keywords(name: str, known: list[str], named: Mapping[str, object]) -> None:
    """Refuse a keyword that there is not, with the one that was meant."""
    for keyword in named:
        if keyword not in known:
            hint = did_you_mean(keyword, known) or f" (there are {', '.join(known)})"
            raise TypeError(f"{name}() has no argument '{keyword}'{hint}")


def with_known_keywords(*hidden: str) -> Callable[[type[C]], type[C]]:
    """Let a class refuse a keyword that it has not in our words; `hidden` ones are not proposed."""

    def decorated(cls: type[C]) -> type[C]:
        original: Callable[..., None] = cls.__init__
        known = [n for n in inspect.signature(original).parameters if n != "self"]
        offered = [n for n in known if n not in hidden]

        @wraps(original)
        def __init__(self: C, *given: Any, **named: Any) -> None:
            unknown = {n: v for n, v in named.items() if n not in known}
            require_keywords(cls.__name__, offered, unknown)
            original(self, *given, **named)

        cls.__init__ = __init__  # type: ignore[assignment]
        return cls

    return decorated
