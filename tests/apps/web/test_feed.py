"""The feed: a run as it goes, for many viewers at once, whoever began it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from estimica.apps.web.live import feed as feed_module
from estimica.apps.web.live.feed import Feed, routes
from estimica.apps.web.live.reader import LiveReader
from estimica.base.errors import StoreError, WebError
from estimica.execute.runs.record import RunSummary, Status, StoredIteration, StoredProgress
from estimica.execute.runs.store import Store
from estimica.execute.runs.writer import RunWriter

STUDY = '[model]\nsource = "Tank.mo"\n'


@dataclass
class Within:
    """A folder whose only guard is that nothing leads upwards."""

    root: Path

    def at(self, name: str) -> Path:
        if ".." in name:
            raise WebError("G010", f"'{name}' is refused")
        return self.root / name


@dataclass
class Curves:
    """A bench that draws at once and remembers what it was asked."""

    asked: list[dict[str, float]] = field(default_factory=list)
    wrong: str = ""

    def of(self, study: Path) -> Curves:
        assert study.name == "tank.toml"
        return self

    async def ask(self, task: str, /, *, key: str, values: dict[str, float]) -> dict[str, Any]:
        self.asked.append(values)
        if self.wrong:
            raise WebError("G062", self.wrong)
        return {"figure": {"data": [values["a"]]}, "fit_percent": {"run 1": {"x": 98.5}}}


def begun(folder: Path, command: str = "fit") -> RunWriter:
    (folder / "tank.toml").write_text(STUDY, encoding="utf-8")
    return Store.beside(folder).begin(command, name="tank", study=STUDY, settings={})


def read(event: bytes) -> dict[str, Any]:
    head, data = event.decode().strip().split("\n")
    assert head.startswith("id: ")
    found: dict[str, Any] = json.loads(data.removeprefix("data: "))
    return found


@dataclass
class Viewer:
    """Puts the state together from events, as a page does."""

    stream: AsyncIterator[bytes]
    state: dict[str, Any] = field(default_factory=dict)

    async def until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        async for event in self.stream:
            if not event.startswith(b":"):
                news = read(event)
                if "more" in news:
                    news["iterations"] = self.state["iterations"] + news.pop("more")
                self.state |= news
                if wanted(self.state):
                    break
        return self.state


def note(writer: RunWriter, number: int, cost: float, a: float, **more: object) -> None:
    writer.iteration(number, cost, {"values": {"a": a}, **more})
    writer.progress(0.1 * number, f"iteration {number}")
    writer.flush()


def test_a_viewer_sees_everything_and_then_what_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "POLL", 0.02)
    writer = begun(tmp_path)
    note(writer, 0, 9.0, 0.4)

    async def watch() -> None:
        feed = Feed(Within(tmp_path))
        stream = await feed.watch("", writer.id)
        first = read(await anext(stream))
        assert first["version"] == 1
        assert (first["run"], first["command"], first["name"]) == (writer.id, "fit", "tank")
        assert (first["status"], first["ended"], first["share"]) == ("running", None, 0.0)
        assert first["iterations"] == [{"number": 0, "cost": 9.0, "values": {"a": 0.4}}]
        note(writer, 1, 4.0, 0.6)
        change = read(await anext(stream))
        assert set(change) <= {"version", "more", "share", "text", "at", "eta"}
        assert change["more"] == [{"number": 1, "cost": 4.0, "values": {"a": 0.6}}]
        assert change["text"] == "iteration 1"
        late = await feed.watch("", writer.id[-6:])  # a second tab, and an id cut short
        whole = read(await anext(late))
        assert len(whole["iterations"]) == 2
        writer.finish(Status.DONE, "converged", {"cost": 4.0})
        ends = [[read(e) async for e in s if not e.startswith(b":")][-1] for s in (stream, late)]
        assert [e["status"] for e in ends] == ["done", "done"]
        assert feed.viewers == 0
        await feed.stop()

    asyncio.run(watch())
    writer.close()


def test_an_ended_run_gives_its_last_state_at_once(tmp_path: Path) -> None:
    with begun(tmp_path) as writer:
        note(writer, 0, float("nan"), 0.4)
        writer.finish(Status.INTERRUPTED, "stopped by Ctrl-C")

    async def watch() -> list[bytes]:
        feed = Feed(Within(tmp_path))
        before = time.monotonic()
        found = [e async for e in await feed.watch("", "last")]
        assert time.monotonic() - before < 1
        await feed.stop()
        return found

    (only,) = asyncio.run(watch())
    state = read(only)
    assert (state["status"], state["message"]) == ("interrupted", "stopped by Ctrl-C")
    assert (state["eta"], state["iterations"][0]["cost"]) == (None, None)


def test_a_slow_viewer_misses_versions_but_not_the_newest_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "POLL", 0.01)
    writer = begun(tmp_path)

    async def watch() -> None:
        feed = Feed(Within(tmp_path))
        slow, quick = await feed.watch("", writer.id), Viewer(await feed.watch("", writer.id))
        await anext(slow)
        for k in range(5):
            note(writer, k, 9.0 - k, 0.4)
            await quick.until(lambda s: len(s["iterations"]) > k)  # noqa: B023
        newest = read(await anext(slow))
        assert newest["version"] >= 6
        assert "run" in newest, "the whole of it, because versions are missing"
        assert [s["number"] for s in newest["iterations"]] == [0, 1, 2, 3, 4]
        await feed.stop()
        assert [e async for e in slow] == []

    asyncio.run(watch())
    writer.close()


def test_curves_follow_the_newest_values_and_a_study_that_changed_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "POLL", 0.02)
    monkeypatch.setattr(feed_module, "REDRAWN", 0.05)
    writer, bench = begun(tmp_path), Curves()

    async def watch() -> None:
        feed = Feed(Within(tmp_path), bench)  # type: ignore[arg-type]
        viewer = Viewer(await feed.watch("", writer.id))
        for k, a in enumerate((0.4, 0.7)):
            note(writer, k, 9.0 - k, a)
            state = await viewer.until(lambda s: s.get("figure") == {"data": [a]})  # noqa: B023
            assert state["fit_percent"] == {"run 1": {"x": 98.5}}
        assert bench.asked == [{"a": 0.4}, {"a": 0.7}]
        bench.wrong = "crashed"
        note(writer, 2, 1.0, 0.8)
        note(writer, 3, 1.0, 0.9)
        await viewer.until(lambda s: s.get("text") == "iteration 3")
        await asyncio.sleep(0.2)
        assert len(bench.asked) == 3, "it would fail again"
        await feed.stop()
        (tmp_path / "tank.toml").write_text(STUDY + "# edited", encoding="utf-8")
        again = Feed(Within(tmp_path), bench)  # type: ignore[arg-type]
        assert "figure" not in read(await anext(await again.watch("", writer.id)))
        await asyncio.sleep(0.1)
        assert len(bench.asked) == 3
        await again.stop()

    asyncio.run(watch())
    writer.close()


def test_nobody_watching_means_nobody_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "POLL", 0.01)
    monkeypatch.setattr(feed_module, "LINGER", 0.05)
    writer = begun(tmp_path)

    async def watch() -> None:
        feed = Feed(Within(tmp_path))
        stream = await feed.watch("", writer.id)
        await anext(stream)
        (one,) = feed._live.values()
        await stream.aclose()  # type: ignore[attr-defined]
        assert feed.viewers == 0
        await asyncio.sleep(0.3)
        assert feed._live == {}
        assert one._task is None

    asyncio.run(watch())
    writer.close()


def test_a_heartbeat_keeps_a_silent_stream_open_and_a_server_that_ends_closes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "HEARTBEAT", 0.1)
    monkeypatch.setattr(feed_module, "WAKE", 0.05)
    writer = begun(tmp_path)

    async def watch() -> None:
        feed = Feed(Within(tmp_path))
        stream = await feed.watch("", writer.id)
        await anext(stream)
        assert await anext(stream) == b": still here\n\n"
        feed.wanted = lambda: False
        assert [e async for e in stream] == []
        await feed.stop()

    asyncio.run(watch())
    writer.close()


def test_no_such_run_and_a_way_outside_are_refused(tmp_path: Path) -> None:
    begun(tmp_path).close()

    async def watch() -> None:
        feed = Feed(Within(tmp_path))
        with pytest.raises(StoreError, match="B010: there is no run 'none'"):
            await feed.watch("", "none")
        with pytest.raises(WebError, match="G010"):
            await feed.watch("../elsewhere", "last")
        feed_module_most, feed_module.MOST = feed_module.MOST, 0
        try:
            with pytest.raises(WebError, match="G070: 0 pages watch runs already"):
                await feed.watch("", "last")
        finally:
            feed_module.MOST = feed_module_most
        await feed.stop()

    asyncio.run(watch())


# --- what the store says --------------------------------------------------------------------------


@dataclass
class Told:
    """A store with one run."""

    progress_: StoredProgress | None = None
    steps: list[StoredIteration] = field(default_factory=list)
    status: Status = Status.RUNNING
    started: float = 0.0

    def news(
        self, run: str, after: int = -1
    ) -> tuple[RunSummary, StoredProgress | None, tuple[StoredIteration, ...]]:
        count = len(self.steps)
        summary = RunSummary(run, "fit", "tank", self.status, "", None, self.started, None, count)
        return summary, self.progress_, tuple(s for s in self.steps if s.number > after)


def step(number: int, **payload: object) -> StoredIteration:
    return StoredIteration(number, 1.0 / (1 + number), 0.0, {"values": {"a": number}, **payload})


def test_the_time_left_follows_the_share_that_is_done() -> None:
    now = time.time()
    told = Told(StoredProgress(0.2, "", now - 30), started=now - 40)
    reader = LiveReader(told, "r")  # type: ignore[arg-type]
    # 10 s for a fifth, 30 s ago: 40 s were left, 10 s are
    assert reader.state()["eta"] == pytest.approx(10, abs=0.5)
    told.progress_ = StoredProgress(0.6, "", now)
    # 30 s for two fifths: 30 s for the other two
    assert reader.state()["eta"] == pytest.approx(30, abs=0.5)
    told.progress_ = StoredProgress(None, "who knows", now + 1)
    assert reader.state()["eta"] is None


def test_many_iterations_are_thinned_with_the_first_and_the_newest() -> None:
    told = Told(steps=[step(k) for k in range(12_345)])
    reader = LiveReader(told, "r")  # type: ignore[arg-type]
    found = reader.state()["iterations"]
    assert len(found) <= 400
    assert (found[0]["number"], found[-1]["number"]) == (0, 12_344)
    assert reader.values() == {"a": 12_344}
    assert len(json.dumps(found)) < 60_000


def test_of_several_starts_the_best_is_drawn() -> None:
    told = Told(steps=[step(0, start=1), step(5, start=2), step(6, start=3)])
    told.steps.append(StoredIteration(7, 9.0, 0.0, {"values": {"a": 99.0}, "start": 4}))
    told.steps.append(StoredIteration(8, float("inf"), 0.0, {"values": {"a": 0.0}, "start": 5}))
    reader = LiveReader(told, "r")  # type: ignore[arg-type]
    reader.state()
    assert reader.values() == {"a": 6}
    assert LiveReader(Told(), "r").values() is None  # type: ignore[arg-type]


def test_the_route_answers_with_the_error_in_words(tmp_path: Path) -> None:
    with begun(tmp_path) as writer:
        writer.finish(Status.DONE)
    folder = Within(tmp_path)

    async def get() -> None:
        feed = Feed(folder)
        transport = httpx.ASGITransport(Starlette(routes=routes(feed, folder)))
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
            answer = await client.get("/live/none")
            assert answer.status_code == 404
            assert answer.text.startswith("there is no run 'none' in")
            answer = await client.get(f"/live/{writer.id}")
            assert answer.headers["content-type"].startswith("text/event-stream")
            assert answer.headers["cache-control"] == "no-store"
            assert read(answer.content)["status"] == "done"
        await feed.stop()

    asyncio.run(get())


@dataclass
class Drawing:
    """A bench that remembers which task it was asked, and with what."""

    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def of(self, study: Path) -> Drawing:
        return self

    async def ask(self, task: str, /, *, key: str, **args: Any) -> dict[str, Any]:
        self.asked.append((task, args))
        return {"figure": {"data": [args["values"]["a"]]}}


def scored(value: float | None, holds: bool) -> dict[str, Any]:
    kind = {"kind": "settling-time", "role": "minimise", "unit": "s", "demand": 1.0}
    bound = None if value is not None else 4.0
    known = {"value": value, "at_least": bound, "holds": holds}
    return {"case": "run", "criterion": "time", **kind, **known}


def test_criteria_and_indicators_of_a_design_are_live(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "POLL", 0.02)
    writer = begun(tmp_path, "optimise")
    note(writer, 1, 9.0, 0.4, criteria=[scored(None, False)])
    bench = Drawing()

    async def watch() -> None:
        feed = Feed(Within(tmp_path), bench)  # type: ignore[arg-type]
        viewer = Viewer(await feed.watch("", writer.id))
        first = await viewer.until(lambda s: "figure" in s)
        (row,) = first["criteria"]
        assert (row["criterion"], row["case"], row["unit"], row["demand"]) == (
            "time", "run", "s", 1.0,
        )  # fmt: skip
        assert (row["value"], row["first"], row["holds"]) == ("not settled", "not settled", False)
        assert bench.asked[0] == ("indicators", {"values": {"a": 0.4}, "first": {"a": 0.4}})
        note(writer, 5, 0.7, 0.6, criteria=[scored(0.7, True)])
        now = await viewer.until(lambda s: s["criteria"][0]["holds"])
        assert now["criteria"][0]["value"] == 0.7
        assert now["criteria"][0]["first"] == "not settled"
        await feed.stop()

    asyncio.run(watch())


def test_a_design_that_began_with_another_run_is_drawn_at_its_values(tmp_path: Path) -> None:
    (tmp_path / "tank.toml").write_text(STUDY, encoding="utf-8")
    store = Store.beside(tmp_path)
    writer = store.begin("optimise", name="tank", study=STUDY, settings={"fit": "2mabc"})
    text, _ = store.asked(writer.id)
    assert Feed(Within(tmp_path))._study("", "tank", text) == tmp_path / "tank.toml"
    bench = Drawing()

    async def watch() -> None:
        feed = Feed(Within(tmp_path), bench)  # type: ignore[arg-type]
        viewer = Viewer(await feed.watch("", writer.id))
        note(writer, 1, 2.0, 0.4)
        await viewer.until(lambda s: s.get("figure"))
        assert bench.asked[0][1]["begun_with"] == "2mabc"
        await feed.stop()

    asyncio.run(watch())


def test_many_viewers_who_come_at_once_have_the_run_looked_up_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of many iterations is long: reading it for each of them would keep all waiting."""
    writer = begun(tmp_path)
    note(writer, 0, 2.0, 1.0)
    looked: list[str] = []
    original = Store.asked
    monkeypatch.setattr(Store, "asked", lambda s, which: looked.append(which) or original(s, which))
    monkeypatch.setattr(Store, "run", lambda s, which: pytest.fail("read as a whole"))

    async def watch() -> None:
        feed = Feed(Within(tmp_path))
        streams = await asyncio.gather(*(feed.watch("", writer.id) for _ in range(50)))
        for stream in streams:
            await Viewer(stream).until(lambda s: bool(s["iterations"]))
        await feed.stop()

    asyncio.run(watch())
    assert looked == [writer.id]
