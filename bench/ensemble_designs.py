"""Many designs of one study: as members of an ensemble beside one simulation after the other.

    python bench/ensemble_designs.py --designs 10000 --workers 2

One after the other is what an assessment did before there were ensembles: each design is simulated
by the scalar engine, sampled where its criteria look, and measured by compiled code. Both ways do
the same designs in one process, in rounds that take turns, so that both see the same machine; the
time is that on the clock, preparation included in both. Printed are the median of the rounds, their
ratio, by how much values differ at most, relative to the larger of the value and one, and the
errors of both beside runs with a hundredth of the tolerance. Demands hold in the same designs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

import estimica as es
from estimica.base.arrays import Vector
from estimica.estimate.objective.cost import Point
from estimica.execute.runs.writer import NoRunWriter
from estimica.execute.workers.executor import executor
from estimica.infer.criterion_map.run import criterion_map, map_centre
from estimica.optimise.assess.run import assess, sampled_study
from estimica.optimise.assess.samples import Samples
from estimica.optimise.batch import BatchEvaluator, builder
from estimica.optimise.criteria.score import DesignPoint
from estimica.optimise.design import prepare_design
from estimica.optimise.robust import combined, prepare_any_design
from estimica.study.tables.optimisation import optimise_table

EXACT = 50  # samples that are run exactly
EXAMPLES = Path(__file__).parents[1] / "examples"
SECOND = """model Second "a servo of second order"
  parameter Real z = 0.4;
  parameter Real w = 5;
  output Real y(start = 0, fixed = true);
  Real v(start = 0, fixed = true);
equation
  der(y) = v;
  der(v) = w^2*(1 - y) - 2*z*w*v;
end Second;
"""


@dataclass(frozen=True)
class Problem:
    """A study and what scatters in it."""

    name: str
    study: es.Study
    draw: dict[str, dict[str, object]]


def normal(mean: float, share: float) -> dict[str, object]:
    """A normal distribution with a relative spread."""
    return {"kind": "normal", "mean": mean, "sigma": share * mean}


def second() -> Problem:
    """Two states, three criteria."""
    criteria = [
        es.Criterion("overshoot", "y", kind="overshoot", reference=1.0, demand=0.3),
        es.Criterion("settling", "y", kind="settling-time", reference=1.0, demand=2.2),
        es.Criterion("error", "y", kind="itae", reference=1.0, demand=0.2),
    ]
    tuners = [es.Tuner("z", start=0.4, min=0.05, max=2), es.Tuner("w", start=5, min=1, max=20)]
    case = es.Case("step", stop=4.0)
    study = es.Study(es.load_model(SECOND), tuners, [case], criteria=criteria, name="second")
    return Problem("second order", study, {"z": normal(0.4, 0.2), "w": normal(5.0, 0.1)})


def boiler() -> Problem:
    """The drum boiler of the examples at two steps of its inputs."""
    model = es.load_model(EXAMPLES / "drum_boiler" / "Boiler.mo")
    criteria = [
        es.Criterion("pressure", "P", kind="maximum", demand=115.0),
        es.Criterion("settling", "E", kind="settling-time", tolerance=0.05, demand=900.0),
        es.Criterion("power", "E", kind="mean", demand=60.0),
        es.Criterion("swing", "P - 100", kind="rms", demand=12.0),
    ]
    tuners = [es.Tuner("T_D", start=250, min=10, max=500), es.Tuner("T_R", start=30, min=1, max=99)]
    cases = [
        es.Case("valve", stop=1500.0, inputs={"uc": 0.9, "fc": 20.0}),
        es.Case("fuel", stop=1500.0, inputs={"uc": 0.8, "fc": 24.0}),
    ]
    study = es.Study(model, tuners, cases, criteria=criteria, name="boiler")
    draw = {"T_D": normal(250, 0.1), "T_R": normal(30, 0.1), "A4": {"min": 0.4, "max": 0.6}}
    return Problem("boiler, two cases", study, draw)


def drive() -> Problem:
    """The robot's drive of the examples, whose reference has events at instants."""
    study = es.read_study(EXAMPLES / "drive" / "assessment.toml")
    draw = {"mLoad": {"min": 0, "max": 15}, "c": normal(150000, 0.1)}
    return Problem("drive, events, two cases", study, draw)


PROBLEMS: dict[str, Callable[[], Problem]] = {"second": second, "boiler": boiler, "drive": drive}


def one_after_the_other(study: es.Study, found: es.Assessment) -> Vector:
    """The criteria of all samples as an assessment took them before."""
    names, values = found.samples.names, found.samples.values
    design = prepare_design(sampled_study(study, names, values[:1]))
    design.make_quick()
    rows = []
    for row in values:
        point = design.at(design.unknowns.coordinates(row), slopes=False)
        rows.append(point.least.tolist() if isinstance(point, DesignPoint) else None)
    none = [np.nan] * len(found.places)
    return np.array([none if row is None else row for row in rows])


class Comparison:
    """Two ways to the same numbers, in turns."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds
        ways = f"{'one by one':>11} {'together':>11} {'ratio':>7}"
        print(f"{'':46} {ways} {'differ':>9} {'errors of both':>19}")

    def tell(
        self,
        name: str,
        before: Callable[[], Vector],
        now: Callable[[], Vector],
        share: float = 1.0,
        exact: Vector | None = None,
    ) -> None:
        """Time both; `before` does only a share of the work; `exact` are some of the values."""
        now()  # what is compiled once on a computer is compiled
        times: tuple[list[float], list[float]] = ([], [])
        values = [np.zeros(0), np.zeros(0)]
        for _ in range(self.rounds):
            for k, way in enumerate((before, now)):
                begun = perf_counter()
                values[k] = way()
                times[k].append(perf_counter() - begun)
        old, new = values[0], values[1][: len(values[0])]
        assert (np.isfinite(old) == np.isfinite(new)).all(), "other designs have failed"
        first, second = median(times[0]) / share, median(times[1])
        told = (
            f"{name:46} {first:9.3f} s {second:9.3f} s {first / second:7.1f} {off(old, new):9.1e}"
        )
        if exact is not None:
            errors = (off(one[: len(exact)], exact) for one in (old, new))
            told += "".join(f" {e:9.1e}" for e in errors)
        print(told, flush=True)


def off(values: Vector, right: Vector) -> float:
    """The largest difference, relative to the larger of the value and one."""
    known = np.isfinite(right)
    return float((np.abs(values - right)[known] / np.maximum(np.abs(right[known]), 1.0)).max())


def exactly(study: es.Study, samples: Samples) -> Vector:
    """The first samples with a hundredth of the tolerance, in the way of a search."""
    design = prepare_design(sampled_study(study, samples.names, samples.values[:1]))
    rows = design.unknowns.coordinates(samples.values[:EXACT])
    return np.array([design.at(row, slopes=False).least for row in rows])


def assessments(show: Comparison, problem: Problem, count: int, workers: int) -> None:
    """Monte Carlo, a sweep, Morris and Sobol: their samples, without the analysis of indices."""
    study, draw = problem.study, problem.draw
    middle = {n: float(d.get("mean", 1.0)) for n, d in draw.items()}
    side = int(np.sqrt(count))
    vary = {
        n: {"from": 0.8 * middle[n], "to": 1.2 * middle[n], "count": side} for n in list(draw)[:2]
    }
    few: dict[str, object] = {"draw": draw, "samples": 1024, "curves": 0}
    ways: dict[str, Callable[[], es.Assessment]] = {
        f"Monte Carlo of {count}": lambda: es.montecarlo(study, **{**few, "samples": count}),
        f"sweep of {side}x{side}": lambda: es.sweep(study, vary=vary, curves=0),
        "Sobol, 1024 base samples": lambda: es.montecarlo(study, sensitivity="sobol", **few),
        "Morris, 1024 and trajectories": lambda: es.montecarlo(study, sensitivity="morris", **few),
    }
    for name, way in ways.items():
        found = way()
        samples = found.samples
        show.tell(
            f"{problem.name}: {name}",
            lambda found=found: one_after_the_other(study, found),
            lambda samples=samples: assess(study, samples, workers=workers).least,
            exact=exactly(study, samples),
        )
        assert (found.held == assess(study, samples, workers=workers).held).all()
        check_verdicts(study, found)


def check_verdicts(study: es.Study, found: es.Assessment) -> None:
    """Demands hold where they did one by one."""
    alone = one_after_the_other(study, found)
    demands = np.array([p.demand for p in found.places])
    counted = [k for k, p in enumerate(found.places) if p.role in ("minimise", "at-most")]
    held = (alone / demands <= 1 + 1e-9) & ~found.open
    assert (held[:, counted] == found.held[:, counted]).all()


def generations(show: Comparison, problem: Problem, workers: int) -> None:
    """Generations of 40 designs, as a genetic search asks for them."""
    table = optimise_table({})
    design = prepare_any_design(problem.study, table)
    box = design.unknowns
    q = box.start * (1 + 0.3 * np.random.default_rng(1).uniform(-1, 1, (200, len(box))))
    q = np.clip(q, box.lower, box.upper)

    def before() -> Vector:
        return np.array([design.at(one, slopes=False).least for one in q[:40]])

    def now() -> Vector:
        with executor("local", workers) as hands:
            many = BatchEvaluator(design, builder(problem.study, table, None), hands, NoRunWriter())
            return np.array(
                [p.least for k in range(5) for p in many(list(q[40 * k : 40 * k + 40]))]
            )

    show.tell(f"{problem.name}: 5 generations of 40", before, now, 0.2)


def robust(show: Comparison, problem: Problem) -> None:
    """Designs in 100 scenarios of what scatters and is not tuned."""
    free = {
        n: d for n, d in problem.draw.items() if n not in {t.name for t in problem.study.tuners}
    }
    if not free:
        return
    scatter = {"uncertain": free, "scenarios": 100, "measure": "quantile"}
    design = prepare_any_design(problem.study, optimise_table({"robust": scatter}))
    q = design.unknowns.start

    def before() -> Vector:
        points = [d.at(q, slopes=False) for d in design.designs]
        return combined(points, design.table).penalised

    show.tell(
        f"{problem.name}: a design in 100 scenarios",
        before,
        lambda: design.at(q, slopes=False).penalised,
    )


def maps(show: Comparison, points: int, workers: int) -> None:
    """The criterion of the boiler's fit over two tuners."""
    fit = es.fit(es.read_study(EXAMPLES / "drum_boiler" / "drum_boiler.toml"))
    first, second = [u.label for u in fit.setup.calibration().unknowns.items][:2]
    grid = criterion_map(fit, first, second, points=points)

    def before() -> Vector:
        from estimica.estimate.objective.cost import scored

        setup, values, scales, _ = map_centre(fit, False)
        objective = scored(setup.calibration(), scales)
        costs = []
        for y in grid.y:
            for x in grid.x:
                there = values.copy()
                there[:2] = x, y
                point = objective.at(objective.unknowns.coordinates(there))
                costs.append(point.cost if isinstance(point, Point) else np.nan)
        return np.array(costs)

    show.tell(
        f"boiler: map of {points}x{points}",
        before,
        lambda: criterion_map(fit, first, second, points=points, workers=workers).cost.ravel(),
    )


def main() -> None:
    """Time both ways of everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--designs", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--points", type=int, default=61, help="of the map, each way")
    parser.add_argument("--only", choices=[*PROBLEMS, "map"], nargs="*")
    options = parser.parse_args()
    print(
        f"{' '.join(sys.argv[1:])}; {options.workers} workers, medians of {options.rounds} rounds"
    )
    show = Comparison(options.rounds)
    for name, make in PROBLEMS.items():
        if options.only and name not in options.only:
            continue
        problem = make()
        assessments(show, problem, options.designs, options.workers)
        generations(show, problem, options.workers)
        robust(show, problem)
    if not options.only or "map" in options.only:
        maps(show, options.points, options.workers)


if __name__ == "__main__":
    main()
