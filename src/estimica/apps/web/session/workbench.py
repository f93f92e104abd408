"""Workbench: what all pages of one server share: the folder, its studies, jobs and live runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from estimica.apps.web.files.containment import LISTING, CodeListing
from estimica.apps.web.files.folder import ServedFolder
from estimica.apps.web.jobs.queue import JobQueue
from estimica.apps.web.live.feed import Feed
from estimica.apps.web.session.agreement import TerminalApprovals
from estimica.apps.web.session.settings import Settings
from estimica.apps.web.session.study import StudySession
from estimica.apps.web.worker.client import ModelWorkers


@dataclass(frozen=True, eq=False)
class Workbench:
    """One served folder and everything that goes on in it."""

    settings: Settings
    folder: ServedFolder
    jobs: JobQueue
    benches: ModelWorkers
    feed: Feed
    agreements: TerminalApprovals = field(default_factory=TerminalApprovals)
    listing: CodeListing = LISTING
    desks: dict[Path, StudySession] = field(default_factory=dict)

    @staticmethod
    def of(settings: Settings) -> Workbench:
        """The workbench of a folder; nothing runs yet."""
        folder = ServedFolder(settings.folder, upload_limit=settings.upload_limit)
        benches = ModelWorkers(folder.root)
        jobs = JobQueue(folder, settings.parallel)
        return Workbench(settings, folder, jobs, benches, Feed(folder, benches))

    def desk(self, name: str) -> StudySession:
        """The study of that name in the folder; all who open it share one desk."""
        path = self.folder.at(name)
        if path not in self.desks:
            self.desks[path] = StudySession(name, path, self.folder, self.benches)
        desk = self.desks[path]
        desk.look()
        return desk
