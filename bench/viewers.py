"""Fifty viewers of one run: how much they slow it, and how late they see what is new.

    python bench/viewers.py --viewers 50 --windows 10

One run goes on and on: it evaluates the criterion of a study with all derivatives, as a fit does,
and notes every few evaluations in the store as an iteration, so that all iterations are equal work.
Viewers come and go in windows of some seconds (without, with, with, without, …), so that both see
the same machine; what counts is how many iterations the run does in a window. The server is a
process of its own with the routes of the workbench, the curves are drawn by the bench of the study
(a process too), and the viewers are connections over loopback that read every event.

All of them share the cores of this machine. What server, bench and viewers use of a core is told
too: on a machine with a core to spare the run does not notice them, on one without it slows by no
more than that. An iteration is late by the time from its `at` in the store to the arrival of a
state at a viewer that has it or a newer one.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import math
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

import numpy as np

from estimica.estimate.objective.cost import Point, scored
from estimica.execute.runs.store import Store

ROD = """
model Rod "Heat in a rod of pieces"
  parameter Real k(unit = "1/s", min = 0.1, max = 20) = 4 "Conduction between pieces";
  parameter Real h(unit = "1/s", min = 0, max = 5) = 0.3 "Loss to the room";
  parameter Real g(min = 0, max = 50) = 6 "Heating";
  input Real u;
  output Real y;
  Real T[SIZE](each start = 0, each fixed = true);
equation
  der(T[1]) = g*u - h*T[1] + k*(T[2] - T[1]);
  for i in 2:SIZE - 1 loop
    der(T[i]) = k*(T[i - 1] - 2*T[i] + T[i + 1]) - h*T[i];
  end for;
  der(T[SIZE]) = k*(T[SIZE - 1] - T[SIZE]) - h*T[SIZE];
  y = T[3];
end Rod;
"""
STUDY = """
[model]
source = "Rod.mo"

[tune]
k = { start = 1.5, min = 0.1, max = 20 }
h = { start = 0.8, min = 0, max = 5 }
g = { start = 12.0, min = 0, max = 50 }

[[case]]
name = "heating"
data = "heating.csv"
inputs = { u = "u" }
outputs = { y = "y" }

[solver]
rtol = 1e-9
atol = 1e-11
"""
DUE = 2.0  # s
EVALUATIONS = 5  # in an iteration
_NUMBER = re.compile(rb'"number":(\d+)')


@dataclass(frozen=True)
class Figures:
    """What was measured; times in seconds."""

    viewers: int
    windows: int  # with viewers, and as many without
    cores: int
    load: float  # of the machine, by others as well
    alone: float  # iterations a second without viewers, median
    watched: float  # and with them
    slower: float  # 1 − ratio of neighbouring windows, median
    spread: float  # half the range in which the middle half of them lies
    server: float  # share of a core while there are viewers
    bench: float
    viewing: float
    late_median: float
    late_99: float
    late_most: float
    pictures: float  # a second, for each viewer
    unseen: int  # iterations that some viewer should have got and did not


def prepared(folder: Path, size: int, samples: int) -> Path:
    """A study with a rod of so many pieces, and data for it."""
    rng = np.random.default_rng(1)
    t = np.linspace(0, 20, samples)
    u = (t % 8 < 4).astype(float)
    y = np.cumsum(u - 0.4) * 20 / samples + 0.01 * rng.standard_normal(samples)
    rows = "\n".join(f"{a:.6g},{b:g},{c:.8g}" for a, b, c in zip(t, u, y, strict=True))
    (folder / "heating.csv").write_text("time,u,y\n" + rows, encoding="utf-8")
    (folder / "Rod.mo").write_text(ROD.replace("SIZE", str(size)), encoding="utf-8")
    study = folder / "rod.toml"
    study.write_text(STUDY, encoding="utf-8")
    return study


def serve(folder: Path, port: int) -> None:
    """The live runs of a folder, as the workbench serves them."""
    import uvicorn
    from starlette.applications import Starlette

    from estimica.apps.web.files.folder import ServedFolder
    from estimica.apps.web.live.feed import Feed, routes
    from estimica.apps.web.worker.client import ModelWorkers

    served = ServedFolder(folder)
    benches = ModelWorkers(served.root)
    feed = Feed(served, benches)

    @contextlib.asynccontextmanager
    async def life(app: Starlette):
        yield
        await feed.stop()
        await benches.stop()

    app = Starlette(routes=routes(feed, served), lifespan=life)
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error")
    server = uvicorn.Server(config)
    feed.wanted = lambda: not server.should_exit
    server.run()


@contextlib.contextmanager
def served(folder: Path) -> Iterator[tuple[int, int]]:
    """The port of a server, and the number of its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, __file__, "--serve", str(folder), str(port)], start_new_session=True
    )
    try:
        end = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            if process.poll() is not None or time.monotonic() > end:
                raise SystemExit("the server did not start")
            time.sleep(0.1)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(30)


def work(study: Path) -> None:
    """A run of equal iterations, until it is stopped."""
    from estimica.estimate.setup import prepare
    from estimica.study.file.read import read_study

    objective = scored(prepare(read_study(study)).calibration(), {})
    unknowns = objective.unknowns
    q = unknowns.clipped(unknowns.start)
    objective.at(q)  # compiles
    text = study.read_text(encoding="utf-8")
    with Store.beside(study).begin("fit", name=study.stem, study=text, settings={}) as writer:
        for k in itertools.count():
            for j in range(EVALUATIONS):
                point = objective.at(q * (1 + 1e-2 * math.sin(EVALUATIONS * k + j)))
            assert isinstance(point, Point)
            writer.iteration(k, point.cost, {"values": unknowns.named(point.values)})
            writer.progress(None, f"iteration {k}  cost {point.cost:.7g}")


@contextlib.contextmanager
def running(study: Path) -> Iterator[str]:
    """The run in its own process."""
    store = Store.beside(study)
    process = subprocess.Popen(
        [sys.executable, __file__, "--work", str(study)],
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # as the workbench does, and a terminal
    )
    try:
        end = time.monotonic() + 120
        while not (run := store.run_of(process.pid, 0.0)) or not store.iterations(run):
            if process.poll() is not None or time.monotonic() > end:
                raise SystemExit("the run did not begin")
            time.sleep(0.05)
        yield run
    finally:
        process.terminate()
        process.wait(30)


@dataclass
class View:
    """What arrived at one viewer, and when."""

    begun: float = 0.0
    arrived: list[tuple[int, float]] = field(default_factory=list)  # the newest iteration
    pictures: int = 0


async def view(port: int, run: str, found: View) -> None:
    """Read the events of a run as a browser does."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**22)
    try:
        writer.write(f"GET /live/{run} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        while line := await reader.readline():
            if not line.startswith(b"data: "):
                continue
            now = time.time()
            found.begun = found.begun or now
            numbers = _NUMBER.findall(line)  # the newest is the last
            if numbers:
                found.arrived.append((int(numbers[-1]), now))
            found.pictures += b'"figure":' in line
    finally:
        writer.close()


async def watched(port: int, run: str, viewers: int, span: float) -> list[View]:
    """What every viewer saw within so many seconds."""
    views = [View() for _ in range(viewers)]
    tasks = [asyncio.ensure_future(view(port, run, v)) for v in views]
    await asyncio.wait(tasks, timeout=span)
    for task in tasks:
        if task.done():
            raise SystemExit(f"a stream ended early: {task.exception()}")
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return views


def used(pid: int) -> tuple[float, float]:
    """Processor seconds of a process, and of its children that live."""
    ticks = os.sysconf("SC_CLK_TCK")

    def own(one: int) -> float:
        fields = Path(f"/proc/{one}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / ticks

    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return own(pid), sum(own(int(c)) for c in children)


def measure(viewers: int, windows: int, span: float, size: int, samples: int) -> Figures:
    """Windows without viewers and with them, in turn."""
    with (
        tempfile.TemporaryDirectory() as name,
        served(Path(name)) as (port, server),
        running(study := prepared(Path(name), size, samples)) as run,
    ):
        asyncio.run(watched(port, run, 1, 2 * span))  # the bench starts, which takes a while
        spans: list[tuple[bool, float, float]] = []
        seen: list[tuple[list[View], float]] = []
        costs = np.zeros(3)
        for k in range(2 * windows):
            begun = time.time()
            if k % 4 in (1, 2):
                before, mine = used(server), time.process_time()
                views = asyncio.run(watched(port, run, viewers, span))
                after = used(server)
                costs += [after[0] - before[0], after[1] - before[1], time.process_time() - mine]
                seen.append((views, time.time()))
            else:
                time.sleep(span)
            spans.append((k % 4 in (1, 2), begun, time.time()))
        load = os.getloadavg()[0]
        at = {i.number: i.at for i in Store.beside(study).iterations(run)}
    return _figures(viewers, windows, load, spans, seen, at, costs / (windows * span))


def _figures(
    viewers: int,
    windows: int,
    load: float,
    spans: list[tuple[bool, float, float]],
    seen: list[tuple[list[View], float]],
    at: dict[int, float],
    shares: np.ndarray,
) -> Figures:
    stamps = np.array(list(at.values()))
    rates = [
        (with_viewers, float(np.sum((stamps > begun + 1) & (stamps < end))) / (end - begun - 1))
        for with_viewers, begun, end in spans
    ]
    pairs = [
        next(r for w, r in two if w) / next(r for w, r in two if not w)
        for two in (rates[k : k + 2] for k in range(0, len(rates), 2))
    ]
    late, unseen, pictures = [], 0, 0
    for views, end in seen:
        for one in views:
            due = [n for n, t in at.items() if one.begun < t < end - DUE]
            for n in due:
                when = next((t for newest, t in one.arrived if newest >= n), None)
                late += [] if when is None else [when - at[n]]
                unseen += when is None
            pictures += one.pictures
    low, middle, high = np.quantile(pairs, [0.25, 0.5, 0.75])
    return Figures(
        viewers,
        windows,
        os.cpu_count() or 1,
        load,
        median(r for w, r in rates if not w),
        median(r for w, r in rates if w),
        float(1 - middle),
        float(high - low) / 2,
        *(float(c) for c in shares),
        float(np.median(late)),
        float(np.quantile(late, 0.99)),
        max(late),
        pictures / sum(len(v) * (e - v[0].begun) for v, e in seen),
        unseen,
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--viewers", type=int, default=50)
    parser.add_argument("--windows", type=int, default=10, help="with viewers; even")
    parser.add_argument("--span", type=float, default=6.0, help="seconds of a window")
    parser.add_argument("--size", type=int, default=60, help="pieces of the rod")
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--json", help="write the figures to this file")
    parser.add_argument("--serve", nargs=2, metavar=("FOLDER", "PORT"), help=argparse.SUPPRESS)
    parser.add_argument("--work", metavar="STUDY", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(Path(given.serve[0]), int(given.serve[1]))
        return
    if given.work:
        with contextlib.suppress(KeyboardInterrupt):
            work(Path(given.work))
        return
    f = measure(given.viewers, given.windows, given.span, given.size, given.samples)
    print(f"{f.cores} cores, load {f.load:.1f}; {f.windows} windows without viewers and with")
    print(f"alone                  {f.alone:.1f} iterations a second")
    print(f"with {f.viewers:3d} viewers       {f.watched:.1f} iterations a second")
    print(f"slower by              {100 * f.slower:.1f} % (± {100 * f.spread:.1f} % by window)")
    print(
        f"of a core              server {100 * f.server:.1f} %, bench {100 * f.bench:.1f} %, "
        f"viewers {100 * f.viewing:.1f} %"
    )
    print(
        f"an iteration arrives   {f.late_median:.2f} s late (99 %: {f.late_99:.2f} s, at most "
        f"{f.late_most:.2f} s); {f.unseen} never did; {f.pictures:.2f} pictures a second"
    )
    if given.json:
        Path(given.json).write_text(json.dumps(asdict(f)), encoding="utf-8")


if __name__ == "__main__":
    main()
