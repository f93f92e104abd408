"""Recent runs: the runs of a folder, from all its stores, newest first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote, unquote

from estimica.apps.web.files.folder import ServedFolder
from estimica.base.errors import StoreError
from estimica.execute.runs.record import RunSummary
from estimica.execute.runs.store import Store


@dataclass(frozen=True)
class FolderRun:
    """A run and the folder, as named below the served one, whose store holds it."""

    folder: str
    run: RunSummary

    @property
    def address(self) -> str:
        """The page of the run."""
        return run_address(self.folder, self.run.id)


def run_address(folder: str, run: str) -> str:
    """The page of a run in the store of a folder."""
    return f"/runs/{quote(folder)}/{quote(run)}" if folder else f"/runs/{quote(run)}"


def compare_address(runs: list[tuple[str, str]]) -> str:
    """The page on which runs, each of a folder, stand side by side."""
    listed = ",".join(f"{quote(folder, safe='')}::{quote(run, safe='')}" for folder, run in runs)
    return f"/compare?runs={quote(listed, safe=':,')}"


def runs_in(listed: str) -> list[tuple[str, str]]:
    """The runs that such an address names."""
    parts = [part.partition("::") for part in listed.split(",") if part]
    return [(unquote(folder), unquote(run)) for folder, _, run in parts]


def store_in(folder: ServedFolder, name: str) -> Store:
    """The store of a folder below the served one."""
    return Store.beside(folder.at(name) if name else folder.root)


def folder_of(study: str) -> str:
    """The folder of a study, as named below the served one."""
    return study.rpartition("/")[0]


@dataclass(frozen=True)
class RecentRuns:
    """Runs of several stores, newest first, and why a store could not be read."""

    runs: list[FolderRun]
    troubles: tuple[str, ...] = ()


def recent_runs(folder: ServedFolder, studies: list[str], limit: int = 200) -> RecentRuns:
    """The newest runs beside these studies."""
    runs: list[FolderRun] = []
    troubles: list[str] = []
    for name in dict.fromkeys(map(folder_of, studies)):
        try:
            runs += [FolderRun(name, run) for run in store_in(folder, name).runs(limit)]
        except StoreError as error:
            troubles.append(error.message.replace(f"{folder.root}/", ""))
    runs.sort(key=lambda r: r.run.started, reverse=True)
    return RecentRuns(runs[:limit], tuple(troubles))


def when(seconds: float) -> str:
    """A time of the clock, with the day where it is another one."""
    then = datetime.fromtimestamp(seconds)
    return f"{then:%H:%M:%S}" if then.date() == datetime.now().date() else f"{then:%d %b %Y %H:%M}"


def lasting(seconds: float | None) -> str:
    """A stretch of time in the largest unit that says enough."""
    if seconds is None:
        return ""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
