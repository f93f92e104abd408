"""Live run: the state of a run that somebody watches, kept once for all who do."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from estimica.apps.web.live.outgoing import outgoing
from estimica.apps.web.live.reader import LiveReader
from estimica.apps.web.worker.client import ModelWorkers
from estimica.base.errors import EstimicaError, StoreError
from estimica.execute.runs.record import Status

POLL = 0.5  # s between two looks into the store
REDRAWN = 1.0  # s between two pictures at least
IDLE = 20  # times the seconds that a picture took: most of the processor is the run's
HEARTBEAT = 10.0  # s
WAKE = 1.0  # s after which a stream looks whether the server still wants it
LARGEST = 60_000  # bytes of a picture
OVERTAKEN = "G063"


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
        self, reader: LiveReader, study: Path | None, benches: ModelWorkers | None
    ) -> None:
        self._reader = reader
        self._study = study
        self._benches = benches
        self._known: dict[str, Any] = {}
        self._news = asyncio.Event()
        self._figure: dict[str, Any] = {}  # figure and errn
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
        seen, told = 0, time.monotonic()
        while wanted():
            state, news = self.state, self._news
            if state is not None and state.version > seen:
                yield state.change if state.version == seen + 1 and seen else state.whole
                seen, told = state.version, time.monotonic()
                if state.ended:
                    return
                continue
            if self._task is None or self._task.done():
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(news.wait(), WAKE)
            if not news.is_set() and time.monotonic() - told > HEARTBEAT:
                told = time.monotonic()
                yield b": still here\n\n"

    async def _follow(self) -> None:
        while True:
            try:
                found = await asyncio.to_thread(self._reader.state)
            except StoreError as error:  # the run is gone, or the store cannot be read
                self.trouble = error.message
                self._wake()
                return
            running = found["status"] == Status.RUNNING
            if running:
                self._draw(found)
            self._publish(found | self._figure, not running)
            if not running:
                return
            await asyncio.sleep(POLL)

    def _publish(self, found: dict[str, Any], ended: bool) -> None:
        change = {k: v for k, v in found.items() if self._known.get(k, _NOTHING) != v}
        if not change and self.state is not None and not ended:
            return
        before = self._known.get("iterations", [])
        steps = change.get("iterations", [])
        if before and steps[: len(before)] == before:
            del change["iterations"]
            change["more"] = steps[len(before) :]
        version = self.state.version + 1 if self.state else 1
        self._known = found
        self.state = LiveState(
            version,
            _event(version, {"version": version, **found}),
            _event(version, {"version": version, **change}),
            ended,
        )
        self._wake()

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    # -- curves --------------------------------------------------------------------------------

    def _draw(self, found: dict[str, Any]) -> None:
        """Have curves drawn at the newest values, unless that is under way or was just done."""
        if self._study is None or self._benches is None or found["command"] != "fit":
            return
        if self._drawing is not None and not self._drawing.done():
            return
        not_before, at = self._drawn
        values = self._reader.values()
        if values is None or values == at or time.monotonic() < not_before:
            return
        self._drawing = asyncio.ensure_future(self._picture(values))

    async def _picture(self, values: dict[str, float]) -> None:
        assert self._study is not None
        assert self._benches is not None
        begun = time.monotonic()
        try:
            bench = self._benches.of(self._study)
            found = await bench.ask("by_hand", key=f"live {self._reader.run}", values=values)
        except EstimicaError as error:
            if error.code != OVERTAKEN:
                self._study = None  # it would fail again
            return
        now = time.monotonic()
        first = not self._drawn[1]  # with the start of a process, which tells nothing
        pause = REDRAWN if first else max(REDRAWN, IDLE * (now - begun))
        self._drawn = now + pause, values
        picture = found["figure"]
        if picture is not None and len(json.dumps(picture)) <= LARGEST:
            self._figure = {"figure": picture, "errn": found["errn"]}


_NOTHING = object()


def _event(version: int, state: dict[str, Any]) -> bytes:
    text = json.dumps(outgoing(state), allow_nan=False, separators=(",", ":"))
    return f"id: {version}\ndata: {text}\n\n".encode()
