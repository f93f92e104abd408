"""A million fits on one GPU: bootstrap, profiles, and how often 95 % intervals hold the truth.

Needs NumPy, CuPy and the files of prepare_fits.py: python bench/gpu/bootstrap_fits.py FOLDER OUT
[MEMBERS]. Noise is drawn on the device by CuPy's generator, so that replicates are others than
those of a bootstrap on the processor.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "src"))
from estimica.estimate.batch.coordinates import Coordinates
from estimica.estimate.batch.device import DeviceSums
from estimica.estimate.batch.intervals import half_widths
from estimica.estimate.batch.scoring import BatchScoring
from estimica.estimate.batch.search import BatchProblem, BatchResult, MemberLimits, batch_search
from estimica.simulate.ensemble.cuda.launcher import CupyLauncher, Launcher
from estimica.simulate.ensemble.cuda.program import Program

MEMBERS = 1_000_000
#: members at once: their data are 2 GB for the boiler, and as much again for those still running
TOGETHER = 1 << 18
SEED = 5
#: values of each unknown in a profile, and how far they go, in standard errors
POINTS, REACH = 1000, 5.0


@dataclass(frozen=True, eq=False)
class Task:
    """One model with its estimate, its noise, and what the processor has found."""

    name: str
    program: Program
    problem: BatchProblem
    launcher: Launcher
    arrays: dict[str, np.ndarray]
    told: dict[str, Any]

    @property
    def xp(self) -> Any:
        """The module whose arrays are on the device."""
        return self.launcher.xp

    @staticmethod
    def load(folder: Path, name: str, launcher: Launcher) -> Task:
        """From the files of prepare_fits.py."""
        with np.load(folder / f"{name}-fit.npz", allow_pickle=False) as stored:
            arrays = {n: stored[n] for n in stored.files}
        told = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        parts = {n: {} for n in ("coordinates", "scoring")}
        for key, value in arrays.items():
            head, _, tail = key.partition("_")
            if head in parts:
                parts[head][tail] = value
        scoring = BatchScoring(
            True, **parts["scoring"], constant=told["constant"], independent=told["independent"]
        )
        problem = BatchProblem(
            Coordinates(**parts["coordinates"]), scoring, told["threshold"], told["tolerance"]
        )
        program = Program.load(folder / f"{name}-program.npz")
        return Task(name, program, problem.on(launcher.xp), launcher, arrays, told)

    def sums(self, value: Any) -> DeviceSums:
        """What a search evaluates with these data."""
        weight = self.xp.asarray(self.arrays["weight"])
        return DeviceSums(self.program, self.launcher, value, weight)

    def fit(self, sums: DeviceSums, start: Any, held: Any = None, near: bool = True) -> BatchResult:
        """All members, from their starts."""
        xp, many = self.xp, len(start)
        limits = MemberLimits(
            *(xp.broadcast_to(xp.asarray(self.arrays[n]), (many, self.arrays[n].shape[0]))
              for n in ("low", "high", "resolution"))
        )  # fmt: skip
        return batch_search(self.problem, sums, start, limits, held=held, near=near)

    def quantile(self, freedom: Any) -> Any:
        """The 97.5 % quantile of Student's t."""
        xp = self.xp
        x, y = xp.asarray(self.arrays["quantile_inverse"]), xp.asarray(self.arrays["quantile"])
        inverse = xp.clip(1 / freedom, 0.0, 1.0)
        return xp.interp(inverse.ravel(), x, y).reshape(freedom.shape)

    def wait(self) -> float:
        """The time, when the device has done everything."""
        cuda = getattr(self.xp, "cuda", None)
        if cuda is not None:
            cuda.Device().synchronize()
        return perf_counter()


def compared(task: Task) -> dict[str, Any]:
    """Replicates that the processor has fitted one by one, and the interval of the fit itself."""
    xp = task.xp
    value = xp.asarray(task.arrays["compared_data"])
    start = xp.tile(xp.asarray(task.arrays["estimate"]), (len(value), 1))
    found = task.fit(task.sums(value), start)
    numbers = task.arrays["compared_numbers"]
    kept = numbers < len(value)
    known = task.arrays["compared_values"][: kept.sum()]
    values = host(found.values)[numbers[kept]]
    proven = host(found.proven)[numbers[kept]]
    off = np.abs(values - known)[proven]
    single = task.sums(xp.asarray(task.arrays["data"])[None])
    own = task.fit(single, start[:1])
    sums = single(own.values, xp.arange(1))
    error, width = half_widths(task.problem, own, sums, task.quantile)
    slope = host(task.problem.coordinates.slopes(own.values))[0]
    low, high = task.arrays["fit_interval"].T
    return {
        "replicates": int(kept.sum()),
        "proven": int(proven.sum()),
        "largest_relative_difference": float(np.max(off / np.abs(known[proven]))),
        "largest_difference_in_errors": float(np.max(off / known.std(axis=0))),
        "stderr_over_that_of_the_fit": (
            host(error)[0] * slope / task.arrays["fit_stderr"]
        ).tolist(),
        "width_over_that_of_the_fit": (2 * host(width)[0] * slope / (high - low)).tolist(),
    }


def repeated(task: Task, members: int) -> dict[str, Any]:
    """Bootstrap and coverage at once: experiments of the model at the estimate, each fitted anew.

    What a bootstrap says of the estimate is how the fits scatter around it; what coverage says of
    the method is how often their intervals hold it, it being their truth.
    """
    xp = task.xp
    rng = xp.random.RandomState(SEED)
    clean, sigma = xp.asarray(task.arrays["clean"]), xp.asarray(task.arrays["sigma"])
    truth = xp.asarray(task.arrays["estimate"])
    seconds = dict.fromkeys(("drawn", "fitted", "judged"), 0.0)
    values, inside, naive, proven, evaluations = [], [], [], 0, 0
    begun = task.wait()
    for first in range(0, members, TOGETHER):
        many = min(TOGETHER, members - first)
        at = task.wait()
        data = rng.standard_normal((many, *clean.shape))
        data *= sigma
        data += clean
        seconds["drawn"] += -at + (at := task.wait())
        sums = task.sums(data)
        found = task.fit(sums, xp.tile(truth, (many, 1)))
        seconds["fitted"] += -at + (at := task.wait())
        good = xp.flatnonzero(found.proven)
        chosen = _of(found, good)
        at_end = sums(chosen.values, good)
        error, width = half_widths(task.problem, chosen, at_end, task.quantile)
        away = xp.abs(chosen.q - truth)
        inside.append(host((away <= width).sum(axis=0)))
        naive.append(host((away <= 1.959964 * error).sum(axis=0)))
        values.append(chosen.values)
        proven += len(good)
        evaluations += int(found.evaluations.sum()) + len(good)
        seconds["judged"] += -at + (at := task.wait())
    at = task.wait()
    every = xp.concatenate(values)
    spreads = _spreads(every, xp)
    seconds["intervals"] = task.wait() - at
    seconds["all"] = task.wait() - begun
    return {
        "fits": members,
        "not proven (for single searches)": members - proven,
        "evaluations": evaluations,
        "seconds": seconds,
        "fits_a_second": members / seconds["all"],
        "evaluations_a_second_while_fitting": evaluations / (seconds["fitted"] + seconds["judged"]),
        "bootstrap": {
            label: {n: float(v[k]) for n, v in spreads.items()}
            for k, label in enumerate(task.told["labels"])
        },
        "coverage": dict(zip(task.told["labels"], (sum(inside) / proven).tolist(), strict=True)),
        "coverage_of_normal_quantiles": dict(
            zip(task.told["labels"], (sum(naive) / proven).tolist(), strict=True)
        ),
        "error_of_coverage": float(np.sqrt(0.95 * 0.05 / proven)),
    }


def profiled(task: Task) -> dict[str, Any]:
    """The cost with each unknown held at many values, all of them and all unknowns at once."""
    xp = task.xp
    truth = xp.asarray(task.arrays["estimate"])
    n = len(truth)
    sums = task.sums(xp.asarray(task.arrays["data"])[None])
    begun = task.wait()
    best = task.fit(sums, truth[None])
    inverse = xp.linalg.inv(best.information[0])
    errors = xp.sqrt(xp.diagonal(inverse))
    places = xp.linspace(-REACH, REACH, POINTS)
    start = xp.repeat(best.q, n * POINTS, axis=0).reshape(n, POINTS, n)
    tangent = (inverse / xp.diagonal(inverse)).T  # how the others go along, row by row
    start = start + (places * errors[:, None])[:, :, None] * tangent[:, None, :]
    held = xp.broadcast_to(xp.eye(n, dtype=bool)[:, None], start.shape)
    found = task.fit(
        sums, start.reshape(-1, n), xp.ascontiguousarray(held.reshape(-1, n)), near=True
    )
    seconds = task.wait() - begun
    cost = host(found.cost).reshape(n, POINTS) - float(best.cost[0])
    held_at = host(found.values).reshape(n, POINTS, n)
    ends = {}
    for k, label in enumerate(task.told["labels"]):
        values, root = held_at[k, :, k], np.sqrt(np.maximum(cost[k], 0.0))
        goal, middle = np.sqrt(task.told["rise"][k]), POINTS // 2
        low = np.interp(-goal, -root[:middle], values[:middle], left=np.nan)
        high = np.interp(goal, root[middle:], values[middle:], right=np.nan)
        ends[label] = {"low": float(low), "high": float(high),
                       "processor": task.arrays["profile"][k].tolist()}  # fmt: skip
    return {
        "fits": n * POINTS,
        "proven": int(found.proven.sum()),
        "seconds": seconds,
        "ends": ends,
    }


def _of(found: BatchResult, chosen: Any) -> BatchResult:
    names = [n for n in found.__dataclass_fields__ if n != "interrupted"]
    return BatchResult(*(getattr(found, n)[chosen] for n in names))


def _spreads(values: Any, xp: Any) -> dict[str, np.ndarray]:
    ordered = xp.sort(values, axis=0)
    many = len(ordered)
    low, high = (round(p * (many + 1)) - 1 for p in (0.025, 0.975))
    return {
        "mean": host(values.mean(axis=0)),
        "stderr": host(values.std(axis=0, ddof=1)),
        "low": host(ordered[max(low, 0)]),
        "high": host(ordered[min(high, many - 1)]),
    }


def host(array: Any) -> np.ndarray:
    """An array of the device as one of NumPy."""
    return np.asarray(array.get() if hasattr(array, "get") else array)


def main(folder: Path, out: Path, members: int = MEMBERS, launcher: Launcher | None = None) -> None:
    """Everything, into one file."""
    out.mkdir(parents=True, exist_ok=True)
    launcher = launcher or CupyLauncher()
    told: dict[str, Any] = {"device": _device(launcher)}
    for name in ("boiler", "enzyme"):
        task = Task.load(folder, name, launcher)
        told[name] = {"compared": compared(task)}  # compiles, too
        repeated(task, min(members, 1000))
        told[name] |= {"repeated": repeated(task, members), "profile": profiled(task)}
        told[name]["processor_seconds_for_1000"] = task.told["processor_seconds_for_1000"]
        print(name, json.dumps(told[name], indent=1), flush=True)
        (out / "fits.json").write_text(json.dumps(told, indent=1), encoding="utf-8")


def _device(launcher: Launcher) -> str:
    cuda = getattr(launcher.xp, "cuda", None)
    if cuda is None:
        return "the processor"
    return str(cuda.runtime.getDeviceProperties(0)["name"].decode())


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:4]))
