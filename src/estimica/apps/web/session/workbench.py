"""Workbench: what all pages of one server share: the folder, its studies, jobs and live runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from estimica.apps.web.files.code_listing import LISTING, CodeListing
from estimica.apps.web.files.folder import Folder
from estimica.apps.web.jobs.queue import Jobs
from estimica.apps.web.live.feed import Feed
from estimica.apps.web.session.agreement import Agreements
from estimica.apps.web.session.settings import Settings
from estimica.apps.web.session.study import Desk
from estimica.apps.web.worker.client import Benches


@dataclass(frozen=True, eq=False)
class Workbench:
    """One served folder and everything that goes on in it."""

    settings: Settings
    folder: Folder
    jobs: Jobs
    benches: Benches
    feed: Feed
    agreements: Agreements = field(default_factory=Agreements)
    listing: CodeListing = LISTING
    desks: dict[Path, Desk] = field(default_factory=dict)

    @staticmethod
    def of(settings: Settings) -> Workbench:
        """The workbench of a folder; nothing runs yet."""
        folder = Folder(settings.folder, upload_limit=settings.upload_limit)
        benches = Benches(folder.root)
        jobs = Jobs(folder, settings.parallel)
        return Workbench(settings, folder, jobs, benches, Feed(folder, benches))

    def desk(self, name: str) -> Desk:
        """The study of that name in the folder; all who open it share one desk."""
        path = self.folder.at(name)
        if path not in self.desks:
            self.desks[path] = Desk(name, path, self.folder, self.benches)
        desk = self.desks[path]
        desk.look()
        return desk
