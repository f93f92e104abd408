"""Feed: live runs for all viewers, as streams of Server-Sent Events."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from estimica.apps.web.jobs.queue import PathResolver
from estimica.apps.web.live.outgoing import outgoing
from estimica.apps.web.live.reader import LiveReader
from estimica.apps.web.worker.client import ModelWorkers
from estimica.base.errors import EstimicaError, StoreError, WebError
from estimica.base.files.read import read_text
from estimica.base.visible import visible
from estimica.execute.runs.record import RunSummary, Status
from estimica.execute.runs.store import Store

LINGER = 10.0  # s for which a run is followed after its last viewer has gone: a reload comes back
MOST = 500  # streams at once; chosen: below the 1024 open files that a process often may have
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

Key = tuple[Path, str]


class Feed:
    """Follows runs as long as somebody watches them, whoever began them."""

    def __init__(self, folder: PathResolver, benches: ModelWorkers | None = None) -> None:
        self._folder = folder
        self._benches = benches
        self._live: dict[Key, LiveRun] = {}
        self._beginning: dict[Key, asyncio.Task[None]] = {}
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
            if key not in self._beginning:  # once, however many come at the same time
                self._beginning[key] = asyncio.ensure_future(self._begin(store, folder, summary))
            try:
                await asyncio.shield(self._beginning[key])
            finally:
                self._beginning.pop(key, None)
        return self._events(key)

    async def _begin(self, store: Store, folder: str, summary: RunSummary) -> None:
        """Follow a run from now on."""
        study, begun = None, ""
        if summary.status is Status.RUNNING and summary.command in PICTURES:
            text, settings = await asyncio.to_thread(store.asked, summary.id)
            study = await asyncio.to_thread(self._study, folder, summary.name, text)
            begun = _begun_with(settings)
        reader = LiveReader(store, summary.id)
        self._live[store.path, summary.id] = LiveRun(reader, study, self._benches, begun)

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

    def _study(self, folder: str, name: str, text: Mapping[str, Any] | str) -> Path | None:
        """The study file of a run, where it still says what it said when the run began."""
        name = f"{name}.toml"
        try:
            path = self._folder.at(f"{folder}/{name}" if folder else name)
            same = read_text(path, "utf-8-sig") == text
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


POLL = 0.5  # s between two looks into the store; chosen: what an eye takes for live
REDRAWN = 1.0  # s between two pictures at least; chosen: they are simulated for it
IDLE = 20  # times the seconds that a picture took: most of the processor is the run's
HEARTBEAT = 10.0  # s; chosen: proxies close connections that are silent for a minute
WAKE = 1.0  # s after which a stream looks whether the server still wants it
LARGEST = 60_000  # bytes of a picture; chosen: sent every second to every viewer
OVERTAKEN = "G063"
MADE = ("fit", "bootstrap", "sample")  # in place of a run: made first, and stored nowhere
#: which task draws a run of a command as it goes
PICTURES = {"fit": "by_hand", "optimise": "indicators"}


@dataclass(frozen=True)
class LiveState:
    """One version of a run's state, written once for all viewers."""

    version: int
    whole: bytes  # the event with all of it
    change: bytes  # the event with what is new since the version before
    ended: bool


class LiveRun:
    """Looks into the store as long as somebody watches, and draws curves with the bench."""

    def __init__(
        self,
        reader: LiveReader,
        study: Path | None,
        benches: ModelWorkers | None,
        begun_with: str = "",
    ) -> None:
        self._reader = reader
        self._begun_with = begun_with  # the run whose values it began with
        self._study = study
        self._benches = benches
        self._known: dict[str, Any] = {}
        self._news = asyncio.Event()
        self._figure: dict[str, Any] = {}  # figure and fit %
        self._drawn: tuple[float, dict[str, float]] = (0.0, {})  # not before, and at which values
        self._drawing: asyncio.Task[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self.state: LiveState | None = None
        self.viewers = 0
        self.trouble = ""

    def start(self) -> None:
        """Look into the store from now on."""
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._follow())

    async def stop(self) -> None:
        """Look no more."""
        for task in (self._task, self._drawing):
            if task is not None:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
        self._task = self._drawing = None
        self._wake()

    async def events(self, wanted: Callable[[], bool]) -> AsyncIterator[bytes]:
        """The state, then what changes. Who reads slowly misses versions, not the newest state."""
        seen, last_sent = 0, time.monotonic()
        while wanted():
            state, news = self.state, self._news
            if state is not None and state.version > seen:
                yield state.change if state.version == seen + 1 and seen else state.whole
                seen, last_sent = state.version, time.monotonic()
                if state.ended:
                    return
                continue
            if self._task is None or self._task.done():
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(news.wait(), WAKE)
            if not news.is_set() and time.monotonic() - last_sent > HEARTBEAT:
                last_sent = time.monotonic()
                yield b": still here\n\n"

    async def _follow(self) -> None:
        while True:
            try:
                state = await asyncio.to_thread(self._reader.state)
            except StoreError as error:  # the run is gone, or the store cannot be read
                self.trouble = error.message
                self._wake()
                return
            running = state["status"] == Status.RUNNING
            if running:
                self._draw(state)
            self._publish(state | self._figure, not running)
            if not running:
                return
            await asyncio.sleep(POLL)

    def _publish(self, state: dict[str, Any], ended: bool) -> None:
        change = {k: v for k, v in state.items() if self._known.get(k, _NOTHING) != v}
        if not change and self.state is not None and not ended:
            return
        before = self._known.get("iterations", [])
        steps = change.get("iterations", [])
        if before and steps[: len(before)] == before:
            del change["iterations"]
            change["more"] = steps[len(before) :]
        version = self.state.version + 1 if self.state else 1
        self._known = state
        self.state = LiveState(
            version,
            _event(version, {"version": version, **state}),
            _event(version, {"version": version, **change}),
            ended,
        )
        self._wake()

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    # -- curves --------------------------------------------------------------------------------

    def _draw(self, state: dict[str, Any]) -> None:
        """Have curves drawn at the newest values, unless that is under way or was just done."""
        if self._study is None or self._benches is None or state["command"] not in PICTURES:
            return
        if self._drawing is not None and not self._drawing.done():
            return
        not_before, at = self._drawn
        values = self._reader.values()
        if values is None or values == at or time.monotonic() < not_before:
            return
        task = PICTURES[state["command"]]
        self._drawing = asyncio.ensure_future(self._picture(task, values))

    async def _picture(self, task: str, values: dict[str, float]) -> None:
        assert self._study is not None
        assert self._benches is not None
        begun = time.monotonic()
        try:
            bench = self._benches.of(self._study)
            asked: dict[str, Any] = {"values": values}
            if self._begun_with:
                asked["begun_with"] = self._begun_with
            if task == "indicators":
                asked["first"] = self._reader.first_values()
            answer = await bench.ask(task, key=f"live {self._reader.run}", **asked)
        except EstimicaError as error:
            if error.code != OVERTAKEN:
                self._study = None  # it would fail again
            return
        now = time.monotonic()
        first = not self._drawn[1]  # with the start of a process, which tells nothing
        pause = REDRAWN if first else max(REDRAWN, IDLE * (now - begun))
        self._drawn = now + pause, values
        picture = answer["figure"]
        if picture is not None and len(json.dumps(picture)) <= LARGEST:
            self._figure = {"figure": picture, "fit_percent": answer.get("fit_percent", {})}


def _begun_with(settings: Mapping[str, Any]) -> str:
    """The run whose values a run began with; empty where it began with those of its study."""
    named = settings.get("fit")
    return named if isinstance(named, str) and named not in MADE else ""


_NOTHING = object()


def _event(version: int, state: dict[str, Any]) -> bytes:
    text = json.dumps(outgoing(state), allow_nan=False, separators=(",", ":"))
    return f"id: {version}\ndata: {text}\n\n".encode()
