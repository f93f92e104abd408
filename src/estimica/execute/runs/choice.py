"""Which run is meant: by its id, or the `last` that fits the question."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from estimica.base.errors import StoreError
from estimica.execute.runs.names import LAST
from estimica.execute.runs.record import RunSummary, Status, StoredRun
from estimica.execute.runs.store import Store

ENDED_WELL = (Status.DONE,)
TO_TAKE_UP = (Status.INTERRUPTED, Status.FAILED)


def chosen_run(
    store: Store,
    which: str,
    *,
    study: str,
    commands: Sequence[str],
    states: Sequence[Status] = ENDED_WELL,
    fits: Callable[[StoredRun], bool] = lambda run: True,
) -> StoredRun:
    """A run by its id; `last` is the newest of this study and these commands that ended so.

    A run that has only begun, that failed, or that belongs to another study in the same folder is
    never the last. `fits` is asked about what such a run holds.
    """
    if which != LAST:
        return store.run(which)
    summaries = store.runs()
    for one in summaries:
        if one.name == study and one.command in commands and one.status in states:
            run = store.run(one.id)
            if fits(run):
                return run
    raise StoreError("B060", _nothing(store, study, commands, states, summaries))


def _nothing(
    store: Store,
    study: str,
    commands: Sequence[str],
    states: Sequence[Status],
    summaries: Sequence[RunSummary],
) -> str:
    kinds = commands[0] if len(commands) == 1 else f"{', '.join(commands[:-1])} or {commands[-1]}"
    ended = " or ".join(str(s) for s in states)
    text = f"no run of {kinds} of study '{study}' in '{store.path}' is {ended}"
    others = [s for s in summaries if s.name == study and s.command in commands]
    if others:
        return f"{text}; the newest, '{others[0].id}', is {others[0].status}"
    return f"{text}; `estimica runs` lists what there is"
