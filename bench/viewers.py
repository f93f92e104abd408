"""Fifty viewers of one run: how much they slow it, and how late they see what is new.

    python bench/viewers.py --viewers 50 --rounds 5

A real `estimica fit` runs again and again, in turn without viewers and with them. The server is a
process of its own with the routes of the workbench, the curves are drawn by the bench of the study
(a process too), and the viewers are connections over loopback that read every event. All of them
share the cores of this machine: with two of them, what the server, the bench and the viewers need
has to fit beside the run, which keeps one busy.

The time of a run is that in the store, from its beginning to its end. An iteration is late by the
time from its `at` in the store to its arrival at a viewer.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import numpy as np

from estimica.execute.store import Store

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

[estimate]
method = "steepest-descent"   # many steps of equal work
tolerance = 1e-15
max_iterations = STEPS

[solver]
rtol = 1e-9
atol = 1e-11
"""
_NUMBER = re.compile(rb'"number":(\d+)')


@dataclass(frozen=True)
class Figures:
    """What was measured; times in seconds."""

    viewers: int
    cores: int
    load: float  # of the machine, by others as well, when it began
    alone: list[float]  # times of runs without viewers
    watched: list[float]  # and with them
    alone_cpu: list[float]  # processor time of the same runs
    watched_cpu: list[float]
    slower: float  # ratio of the medians of times, minus one
    slower_cpu: float  # the same of processor times
    late_median: float
    late_99: float
    late_most: float
    pictures: int  # curves that a viewer saw in a run, median
    unseen: int  # iterations that some viewer never got


def prepare(folder: Path, size: int, steps: int, samples: int) -> Path:
    """A study whose fit takes a while, in equal steps."""
    rng = np.random.default_rng(1)
    t = np.linspace(0, 20, samples)
    u = (t % 8 < 4).astype(float)
    y = np.cumsum(u - 0.4) * 20 / samples + 0.01 * rng.standard_normal(samples)
    rows = "\n".join(f"{a:.6g},{b:g},{c:.8g}" for a, b, c in zip(t, u, y, strict=True))
    (folder / "heating.csv").write_text("time,u,y\n" + rows, encoding="utf-8")
    (folder / "Rod.mo").write_text(ROD.replace("SIZE", str(size)), encoding="utf-8")
    study = folder / "rod.toml"
    study.write_text(STUDY.replace("STEPS", str(steps)), encoding="utf-8")
    return study


def serve(folder: Path, port: int) -> None:
    """The live runs of a folder, as the workbench serves them."""
    import uvicorn
    from starlette.applications import Starlette

    from estimica.apps.web.bench import Benches
    from estimica.apps.web.feed import Feed, routes
    from estimica.apps.web.folder import Folder

    served = Folder(folder)
    benches = Benches(served.root)
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
def served(folder: Path) -> Iterator[int]:
    """The port of a server in its own process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, __file__, "--serve", str(folder), str(port)])
    try:
        end = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            if process.poll() is not None or time.monotonic() > end:
                raise SystemExit("the server did not start")
            time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait(30)


class Run:
    """One `estimica fit` in its own process."""

    def __init__(self, study: Path) -> None:
        self.store = Store.beside(study)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "estimica", "fit", str(study), "--quiet", "--json"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + 120
        while not (run := self.store.run_of(self._process.pid, 0.0)):
            if self._process.poll() is not None or time.monotonic() > end:
                raise SystemExit("the fit did not begin")
            time.sleep(0.02)
        self.id = run

    def ended(self) -> tuple[float, float]:
        """Its time in the store, and the processor time of its process."""
        _, _, used = os.wait4(self._process.pid, 0)
        self._process.returncode = 0
        summary = self.store.summary(self.id)
        assert summary.ended is not None
        return summary.ended - summary.started, used.ru_utime + used.ru_stime


async def view(port: int, run: str) -> tuple[dict[int, float], int]:
    """When each iteration arrived at one viewer, and how many pictures came."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**22)
    writer.write(f"GET /live/{run} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    arrived: dict[int, float] = {}
    pictures = 0
    while line := await reader.readline():
        if not line.startswith(b"data: "):
            continue
        now = time.time()
        for number in _NUMBER.findall(line):
            arrived.setdefault(int(number), now)
        pictures += b'"figure":' in line
        if b'"status":"' in line and b'"status":"running"' not in line:
            break
    writer.close()
    return arrived, pictures


async def watched(port: int, run: Run, viewers: int) -> list[tuple[dict[int, float], int]]:
    """What every viewer saw until the run ended."""
    return await asyncio.gather(*(view(port, run.id) for _ in range(viewers)))


def measure(viewers: int, rounds: int, size: int, steps: int, samples: int) -> Figures:
    """Runs without viewers and with them, in turn."""
    alone: list[tuple[float, float]] = []
    seen: list[tuple[float, float]] = []
    late: list[float] = []
    pictures: list[int] = []
    unseen = 0
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name, served(Path(name)) as port:
        study = prepare(Path(name), size, steps, samples)
        Run(study).ended()  # the first one compiles
        for _ in range(rounds):
            alone.append(Run(study).ended())
            run = Run(study)
            views = asyncio.run(watched(port, run, viewers))
            seen.append(run.ended())
            at = {i.number: i.at for i in run.store.iterations(run.id)}
            for arrived, count in views:
                late += [arrived[n] - at[n] for n in arrived if n in at]
                unseen += len(set(at) - set(arrived))
                pictures.append(count)
    walls, cpus = (([r[k] for r in alone], [r[k] for r in seen]) for k in (0, 1))
    return Figures(
        viewers,
        os.cpu_count() or 1,
        load,
        *walls,
        *cpus,
        median(walls[1]) / median(walls[0]) - 1,
        median(cpus[1]) / median(cpus[0]) - 1,
        float(np.median(late)),
        float(np.quantile(late, 0.99)),
        max(late),
        int(median(pictures)),
        unseen,
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--viewers", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--size", type=int, default=24, help="pieces of the rod")
    parser.add_argument("--steps", type=int, default=150, help="iterations of the fit")
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--json", help="write the figures to this file")
    parser.add_argument("--serve", nargs=2, metavar=("FOLDER", "PORT"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(Path(given.serve[0]), int(given.serve[1]))
        return
    f = measure(given.viewers, given.rounds, given.size, given.steps, given.samples)
    print(f"{f.cores} cores, load {f.load:.1f} when it began; {len(f.alone)} rounds in turn")
    print(f"run alone              {_told(f.alone)}, processor {_told(f.alone_cpu)}")
    print(f"with {f.viewers:3d} viewers       {_told(f.watched)}, processor {_told(f.watched_cpu)}")
    print(f"slower by              {100 * f.slower:+.1f} % (processor {100 * f.slower_cpu:+.1f} %)")
    print(
        f"an iteration arrives   {f.late_median:.2f} s late (99 %: {f.late_99:.2f} s, at most "
        f"{f.late_most:.2f} s); {f.unseen} never did; {f.pictures} pictures for each viewer"
    )
    if given.json:
        Path(given.json).write_text(json.dumps(asdict(f)), encoding="utf-8")


def _told(times: list[float]) -> str:
    return f"{median(times):.2f} s ({min(times):.2f} … {max(times):.2f})"


if __name__ == "__main__":
    main()
