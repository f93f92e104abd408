"""Feed: live runs for all viewers, as streams of Server-Sent Events."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from estimica.apps.web.jobs.queue import PathResolver
from estimica.apps.web.live.reader import LiveReader
from estimica.apps.web.live.watched_run import LiveRun
from estimica.apps.web.worker.client import ModelWorkers
from estimica.base.errors import EstimicaError, WebError
from estimica.base.files.read import read_text
from estimica.base.visible import visible
from estimica.execute.runs.record import Status
from estimica.execute.runs.store import Store

LINGER = 10.0  # s for which a run is followed after its last viewer has gone: a reload comes back
MOST = 500  # streams at once
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

Key = tuple[Path, str]


class Feed:
    """Follows runs as long as somebody watches them, whoever began them."""

    def __init__(self, folder: PathResolver, benches: ModelWorkers | None = None) -> None:
        self._folder = folder
        self._benches = benches
        self._live: dict[Key, LiveRun] = {}
        self._left: dict[Key, float] = {}  # when the last viewer went
        self._tidying: asyncio.Task[None] | None = None
        #: whether the server goes on: an open stream would keep it from ending
        self.wanted: Callable[[], bool] = lambda: True

    @property
    def viewers(self) -> int:
        """Streams that are open."""
        return sum(one.viewers for one in self._live.values())

    async def watch(self, folder: str, run: str) -> AsyncIterator[bytes]:
        """The events of a run in the store of a folder; an error where there is no such run."""
        if self.viewers >= MOST:
            raise WebError("G070", f"{MOST} pages watch runs already; close some of them")
        place = self._folder.at(folder) if folder else self._folder.root
        store = Store.beside(place)
        if (store.path, run) in self._live:  # others watch it already
            return self._events((store.path, run))
        summary = await asyncio.to_thread(store.summary, run)
        key = store.path, summary.id
        if key not in self._live:
            study = None
            if summary.status is Status.RUNNING and summary.command == "fit":
                study = await asyncio.to_thread(self._study, store, folder, summary.id)
            self._live.setdefault(key, LiveRun(LiveReader(store, summary.id), study, self._benches))
        return self._events(key)

    async def stop(self) -> None:
        """End all streams."""
        self.wanted = lambda: False
        if self._tidying is not None:
            self._tidying.cancel()
        for one in list(self._live.values()):
            await one.stop()
        self._live.clear()

    async def _events(self, key: Key) -> AsyncIterator[bytes]:
        one = self._live[key]
        one.viewers += 1
        one.start()
        try:
            async for event in one.events(lambda: self.wanted()):
                yield event
        finally:
            one.viewers -= 1
            self._left[key] = time.monotonic()
            if self._tidying is None or self._tidying.done():
                self._tidying = asyncio.ensure_future(self._tidy())

    def _study(self, store: Store, folder: str, run: str) -> Path | None:
        """The study file of a run, where it still says what it said when the run began."""
        stored = store.run(run)
        name = f"{stored.summary.name}.toml"
        try:
            path = self._folder.at(f"{folder}/{name}" if folder else name)
            same = read_text(path, "utf-8-sig") == stored.study
        except (EstimicaError, OSError, UnicodeDecodeError, ValueError):
            return None
        return path if same else None

    async def _tidy(self) -> None:
        """Follow no run that nobody watches."""
        while self._live:
            await asyncio.sleep(LINGER / 4)
            now = time.monotonic()
            for key, one in list(self._live.items()):
                if not one.viewers and now - self._left.get(key, now) > LINGER:
                    del self._live[key]
                    self._left.pop(key, None)
                    await one.stop()


def routes(feed: Feed, folder: PathResolver) -> list[Route]:
    """The address of every live run: /live/FOLDER/RUN."""

    async def live(request: Request) -> Response:
        place, _, run = request.path_params["path"].rpartition("/")
        try:
            events = await feed.watch(place, run)
        except EstimicaError as error:
            return PlainTextResponse(visible(error.message), status_code=404)
        return StreamingResponse(events, media_type="text/event-stream", headers=HEADERS)

    return [Route("/live/{path:path}", live, methods=["GET"])]
