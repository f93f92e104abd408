"""Figures of a whole process: import, from text to the first Jacobian, cost and memory by samples.

Each is measured in a process of its own: python process.py TASK [ARGUMENT] prints one line of JSON.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a task that measures an import must not find it done
    from problems import Problem

    from estimica import ModelicaModel, Response

SIZES = (1_000, 10_000, 100_000, 1_000_000)


@dataclass(frozen=True)
class Line:
    """Something measured, its target, and whether that is met (None: there is none)."""

    what: str
    measured: str
    target: str = ""
    met: bool | None = None


def process_lines() -> list[Line]:
    """All figures of this file."""
    lines = [_import_line("import estimica", "import estimica", 1.0)]
    lines.append(
        _import_line("import estimica; estimica.load_model", "import estimica; estimica.load_model")
    )
    text = _measured("text")
    lines.append(
        Line(
            f"A: from text to the first Jacobian (load {text['load']:.2f}, set up "
            f"{text['response']:.2f}, run {text['run']:.3f})",
            f"{text['total']:.2f} s",
            "≤ 0.5 s",
            text["total"] <= 0.5,
        )
    )
    overhead = _measured("overhead")["seconds"]
    lines.append(Line("overhead of an evaluation", f"{1e6 * overhead:.0f} µs"))
    return [*lines, *_scaling_lines()]


def _import_line(what: str, code: str, bound: float | None = None) -> Line:
    timed = f"import time; t = time.perf_counter(); {code}; print(time.perf_counter() - t)"
    best = min(float(_python("-c", timed)) for _ in range(3))
    if bound is None:
        return Line(what, f"{best:.2f} s")
    return Line(what, f"{best:.2f} s", f"≤ {bound:g} s", best <= bound)


def _scaling_lines() -> list[Line]:
    found = {n: _measured("samples", str(n)) for n in SIZES}
    per_sample = {n: 1e6 * f["seconds"] / n for n, f in found.items()}
    spread = max(per_sample.values()) / min(per_sample.values())
    steps = ", ".join(f"{n:.0e}: {v:.2f}" for n, v in per_sample.items())
    largest = found[SIZES[-1]]
    memory = largest["peak"] / largest["arrays"]
    return [
        Line(f"A: µs for a sample ({steps})", f"spread {spread:.2f}", "≤ 1.5", spread <= 1.5),
        Line(
            f"A: memory for {SIZES[-1]:.0e} samples, over its output arrays of "
            f"{largest['arrays'] / 1e6:.0f} MB",
            f"{memory:.2f}",
            "≤ 3",
            memory <= 3,
        ),
    ]


def _measured(*arguments: str) -> dict[str, float]:
    return dict(json.loads(_python(__file__, *arguments).strip().splitlines()[-1]))


def _python(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stderr.strip()[-500:]}")
    return done.stdout


# -- the tasks -----------------------------------------------------------------------------------


def text_to_jacobian(repeat: int = 7) -> dict[str, float]:
    """Seconds from unseen text to the first Jacobian of A, in a process that has done it before."""
    import problems

    import estimica as es

    problem = problems.boiler()
    text = problem.file.read_text()
    parts: dict[str, list[float]] = {"load": [], "response": [], "run": [], "total": []}
    for k in range(repeat + 1):
        unseen = text + f"// {os.getpid()} {time.time_ns()} {k}\n"
        marks = [time.perf_counter()]
        model = es.load_model(unseen, "DrumBoiler")
        marks.append(time.perf_counter())
        response = _response(model, problem)
        marks.append(time.perf_counter())
        assert response.at(problem.theta).ok
        marks.append(time.perf_counter())
        for name, a, b in zip(("load", "response", "run"), marks, marks[1:], strict=False):
            parts[name].append(b - a)
        parts["total"].append(marks[-1] - marks[0])
    return {name: statistics.median(values[1:]) for name, values in parts.items()}


def overhead() -> dict[str, float]:
    """Seconds of an evaluation of A that has nothing to integrate: one sample at the beginning."""
    import problems

    import estimica as es

    problem = problems.boiler(samples=1)
    response = es.load_model(problem.file).response(
        [0.0], {n: float(v[0]) for n, v in problem.inputs.items()},
        outputs=problem.outputs, wrt=list(problem.tuners),
    )  # fmt: skip
    theta = problem.theta
    return {"seconds": min(_batch(lambda: response.at(theta), 200) for _ in range(20))}


def samples(n: int) -> dict[str, float]:
    """Seconds of an evaluation with n samples; bytes of its arrays and of the peak it needs."""
    import problems

    import estimica as es

    problem = problems.boiler(samples=n)
    model = es.load_model(problem.file)
    _response(model, problems.boiler()).at(problem.theta)
    before = _peak(reset=True)
    response = _response(model, problem)
    run = response.at(problem.theta)
    assert run.ok
    arrays = run.Y.nbytes + run.YS.nbytes + run.times.nbytes
    peak = _peak() - before
    repeat = max(3, min(50, 100_000 // n))
    seconds = statistics.median(
        _batch(lambda: response.at(problem.theta), 1) for _ in range(repeat)
    )
    return {"seconds": seconds, "arrays": arrays, "peak": peak}


def _response(model: ModelicaModel, problem: Problem) -> Response:
    """The problem as our engine takes it."""
    return model.response(
        problem.times,
        {n: (problem.grid[:-1], v) for n, v in problem.inputs.items()},
        outputs=problem.outputs,
        wrt=list(problem.tuners),
        begin=0.0,
    )


def _batch(call: Callable[[], object], n: int) -> float:
    begun = time.thread_time()
    for _ in range(n):
        call()
    return (time.thread_time() - begun) / n


def _peak(reset: bool = False) -> int:
    """Bytes of the largest resident set so far; `reset` starts anew from what is held now."""
    try:
        if reset:
            Path("/proc/self/clear_refs").write_text("5")
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass  # not on this system: the largest ever is all there is
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    task, *rest = sys.argv[1:]
    tasks: dict[str, Callable[..., dict[str, float]]] = {
        "text": text_to_jacobian,
        "overhead": overhead,
        "samples": lambda n: samples(int(n)),
    }
    print(json.dumps(tasks[task](*rest)))
