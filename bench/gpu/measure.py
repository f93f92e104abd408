"""Ensembles on a GPU: agreement with the scalar engine, evaluations a second, a map, cost by size.

python bench/gpu/measure.py FOLDER, where FOLDER holds what prepare.py has written; NumPy and CuPy
are all it needs.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent / "src"))
sys.path.append(str(Path(sys.argv[1]) / "lib"))

import cupy as cp  # noqa: E402

from estimica.simulate.ensemble.cuda.launcher import CupyLauncher  # noqa: E402
from estimica.simulate.ensemble.cuda.program import Program  # noqa: E402
from estimica.simulate.ensemble.cuda.runner import run_normal, run_samples  # noqa: E402

TITLES = {"A": "boiler", "B": "four states", "Rob": "Robertson"}
LAUNCHER = CupyLauncher()


def seconds_of(work: Callable[[], Any], repeats: int = 3) -> float:
    """The best of some runs, by the device's own clock; the first compiles."""
    work()
    best = np.inf
    for _ in range(repeats):
        begin, end = cp.cuda.Event(), cp.cuda.Event()
        begin.record()
        work()
        end.record()
        end.synchronize()
        best = min(best, 1e-3 * cp.cuda.get_elapsed_time(begin, end))
    return best


def members(reference: Any, many: int, spread: float = 0.1) -> Any:
    """Tuners around those of the problem, on the device."""
    theta = cp.asarray(reference["theta"])
    draws = cp.random.default_rng(0).random((many, len(theta)))
    return theta * (1 + spread * (draws - 0.5))


def agreement(name: str, program: Program, reference: Any) -> None:
    """Largest differences from the scalar engine, relative to the largest value."""
    sums = run_normal(
        program, reference["thetas"], reference["value"], reference["weight"], LAUNCHER
    )
    run = run_samples(program, reference["thetas"], LAUNCHER)

    def gap(found: Any, key: str, axes: tuple[int, ...]) -> float:
        size = np.abs(reference[key]).max(axis=axes)
        differences = np.abs(found - reference[key]).max(axis=axes)
        return float((differences / np.where(size > 0, size, 1.0)).max())

    cost = np.abs(sums.square.sum(1) / reference["square"].sum(1) - 1).max()
    print(
        f"{TITLES[name]:12s} costs {cost:.1e}  JTr {gap(sums.gradient, 'gradient', (0, 1)):.1e}  "
        f"JTJ {gap(sums.information, 'information', (0, 1)):.1e}  y {gap(run.Y, 'Y', (0, 1)):.1e}  "
        f"dy {gap(run.YS, 'YS', (0, 1)):.1e}  failed {int((sums.outcome.status != 0).sum())}  "
        f"halves {_halves(program, reference, sums):.1e}"
    )


def _halves(program: Program, reference: Any, whole: Any) -> float:
    """Weights of each member's own: two halves of its samples, drawn for it, make the whole."""
    shape = (len(reference["thetas"]), *reference["weight"].shape)
    some = np.random.default_rng(0).random(shape) < 0.5
    parts = [
        run_normal(
            program, reference["thetas"], reference["value"], reference["weight"] * half, LAUNCHER
        )
        for half in (some, ~some)
    ]
    both = parts[0].information + parts[1].information
    return float(np.abs(both - whole.information).max() / np.abs(whole.information).max())


def rates(name: str, program: Program, reference: Any) -> None:
    """Evaluations a second, of the normal equations and of outputs with their derivatives."""
    value, weight = cp.asarray(reference["value"]), cp.asarray(reference["weight"])
    for many in (1000, 10_000, 100_000, 1_000_000):
        thetas = members(reference, many)
        normal = seconds_of(
            lambda t=thetas: run_normal(program, t, value, weight, LAUNCHER, host=False)
        )
        text = f"{TITLES[name]:12s} {many:8d} members  normal {many / normal:10.3g} a second"
        if many <= 100_000:
            samples = seconds_of(lambda t=thetas: run_samples(program, t, LAUNCHER, host=False))
            text += f"  outputs and derivatives {many / samples:10.3g} a second"
        print(text, flush=True)


def own_data(program: Program, reference: Any, many: int = 500_000) -> None:
    """Every member with data of its own, as in a bootstrap."""
    value, weight = cp.asarray(reference["value"]), cp.asarray(reference["weight"])
    noise = cp.random.default_rng(1).standard_normal((many, *value.shape[1:]))
    noise += value
    thetas, which = members(reference, many), cp.arange(many)[::-1]
    plain = seconds_of(lambda: run_normal(program, thetas, noise, weight, LAUNCHER, host=False))
    picked = seconds_of(
        lambda: run_normal(program, thetas, noise, weight, LAUNCHER, host=False, which=which)
    )
    print(
        f"data of their own: {many} members, {noise.nbytes / 2**30:.1f} GiB, {many / plain:.3g} a "
        f"second; picked by number {many / picked:.3g}"
    )


def cost_map(program: Program, reference: Any, side: int = 1000) -> None:
    """The cost over T_D and T_R, a million points."""
    theta = cp.asarray(reference["theta"])
    thetas = cp.tile(theta, (side * side, 1))
    a, b = (theta[k] * cp.linspace(0.8, 1.2, side) for k in (0, 1))
    thetas[:, 0], thetas[:, 1] = cp.repeat(a, side), cp.tile(b, side)
    value, weight = cp.asarray(reference["value"]), cp.asarray(reference["weight"])
    begun = time.perf_counter()
    sums = run_normal(program, thetas, value, weight, LAUNCHER, host=False)
    cost = sums.square.sum(axis=1)
    best = thetas[int(cost.argmin()), :2]
    seconds = time.perf_counter() - begun
    print(f"map of {side * side} points: {seconds:.3f} s; least cost {float(cost.min()):.2f} at "
          f"T_D {float(best[0]):.2f}, T_R {float(best[1]):.3f}")  # fmt: skip


def by_members(program: Program, reference: Any) -> None:
    """From a hundred members to ten million, results on the host; what memory they take."""
    value, weight = cp.asarray(reference["value"]), cp.asarray(reference["weight"])
    pool = cp.get_default_memory_pool()
    for power in range(2, 8):
        many = 10**power
        theta = cp.asnumpy(members(reference, many))
        pool.free_all_blocks()
        run_normal(program, theta[:100], value, weight, LAUNCHER)
        begun = time.perf_counter()
        sums = run_normal(program, theta, value, weight, LAUNCHER)
        seconds = time.perf_counter() - begun
        good = int((sums.outcome.status == 0).sum())
        print(
            f"10^{power} members: {seconds:.4f} s with copies to and fro, {many / seconds:.3g} a "
            f"second, {pool.total_bytes() / 2**30:.2f} GiB on the device, {many - good} failed",
            flush=True,
        )
        del sums, theta


def main(folder: Path) -> None:
    """All of it; a part that fails does not stop the others."""
    device = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    print(device, time.strftime("%Y-%m-%d"), "CuPy", cp.__version__)
    programs = {n: Program.load(folder / f"{n}.npz") for n in TITLES}
    references = {n: dict(np.load(folder / f"{n}-reference.npz")) for n in TITLES}
    parts: list[Callable[[], None]] = []
    for n in TITLES:
        parts.append(lambda n=n: agreement(n, programs[n], references[n]))
    for n in TITLES:
        parts.append(lambda n=n: rates(n, programs[n], references[n]))
    parts += [
        lambda: own_data(programs["A"], references["A"]),
        lambda: cost_map(programs["A"], references["A"]),
        lambda: by_members(programs["A"], references["A"]),
    ]
    for part in parts:
        try:
            part()
        except Exception:  # the others are worth their time on the device
            traceback.print_exc()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
