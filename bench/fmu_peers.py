"""Those who fit an FMU: Estimica, and FMPy with SciPy's least_squares in two ways."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import fmpy
import numpy as np
from fit_peers import TOLERANCE, Found, Peer
from fmpy.simulation import instantiate_fmu
from fmu_cases import UnitCase, Vector
from scipy.optimize import least_squares

import estimica as es
from estimica.simulate.fmu.experiment import FmuExperiment, FmuPoint, FmuRun
from estimica.simulate.fmu.loop.layout import BY_DIFFERENCES
from estimica.simulate.fmu.model import FmuModel
from estimica.simulate.fmu.process import FmuProcess

DIFFERENCE = 1e-4  # relative step of the finite differences


class Ours(Peer):
    """es.fit of a study whose model is the FMU."""

    name = "estimica"
    runs = 0

    def __init__(self, case: UnitCase, path: Path, data: Vector) -> None:
        begun = time.perf_counter()
        self.study = study_of(case, path, data)
        self.search()
        self.prepare_s = time.perf_counter() - begun

    def run(self) -> Found:
        """One fit, with the CPU time of the process in which the FMU runs."""
        wall, cpu = time.perf_counter(), cpu_of_all()
        found = self.search()
        return Found(*found, time.perf_counter() - wall, cpu_of_all() - cpu)

    def search(self) -> tuple[Vector, float, int, int]:
        """Values, cost, simulations, evaluations with a Jacobian; counts the runs of the FMU."""
        assert isinstance(self.study.model, FmuModel)
        self.study.model.forget_derivatives()  # so that each fit pays for checking them
        with counted() as runs:
            found = es.fit(self.study)
        self.runs = runs[0]
        assert found.outcome.ok, found.outcome.message
        e = found.evaluations
        return found.values, found.cost, e.simulations - e.sensitivities, e.sensitivities


@contextmanager
def counted() -> Iterator[list[int]]:
    """How often the FMU is run: with differences once above and once below for each tuner too."""
    runs, ask = [0], FmuProcess.ask

    def counting(
        self: FmuProcess, experiment: FmuExperiment, points: list[FmuPoint], limit: float
    ) -> list[FmuRun]:
        for point in points:
            rows = len(point.parameters)
            runs[0] += rows if BY_DIFFERENCES in point.ways else 1
        return ask(self, experiment, points, limit)

    FmuProcess.ask = counting  # type: ignore[method-assign]
    try:
        yield runs
    finally:
        FmuProcess.ask = ask  # type: ignore[method-assign]


def cpu_of_all() -> float:
    """CPU seconds of this process and of all below it that still run."""
    return time.process_time() + sum(map(_cpu, _below("self")))


def _below(process: str) -> Iterator[str]:
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        for child in path.read_text().split():
            yield child
            yield from _below(child)


def _cpu(process: str) -> float:
    tasks = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(1e-9 * int(task.read_text().split()[0]) for task in tasks)


def study_of(case: UnitCase, path: Path, data: Vector) -> es.Study:
    """The case as our users write it."""
    table: dict[str, object] = dict(case.inputs)
    table |= {n: (case.times, data[:, k]) for k, n in enumerate(case.outputs)}
    interface = "me" if case.kind == "ModelExchange" else "cs"
    step = float(case.times[1] - case.times[0]) if interface == "cs" else None
    return es.Study(
        es.load_model(path, interface=interface, communication_step=step),
        [es.Tuner(n, start=v, min=0.1 * v, max=10 * v) for n, v in case.start.items()],
        [
            es.Case(
                "run", table,
                inputs={n: n for n in case.inputs},
                outputs={n: es.OutputColumn(n, weight=1 / s) for n, s in case.outputs.items()},
                begin=0.0,
            )
        ],
        "oe",
        solver=es.Solver(rtol=case.tolerance, atol=1e-8),
    )  # fmt: skip


class Fmpy(Peer):
    """least_squares with differences around simulate_fmu; the FMU is unpacked and read once."""

    name = "FMPy + SciPy"
    runs = 0

    def __init__(self, case: UnitCase, path: Path, data: Vector) -> None:
        begun = time.perf_counter()
        self.case, self.data = case, data
        self.description = fmpy.read_model_description(str(path))
        self.folder = fmpy.extract(str(path))
        self.sigma = np.array(list(case.outputs.values()))
        self.inputs = _inputs(case)
        self.prepare_s = time.perf_counter() - begun
        self.count = 0

    def instance(self) -> object | None:
        """An instance to be used again; None: a new one for each simulation."""
        return None

    def simulate(self, values: Vector) -> Vector:
        """Outputs (N, ny)."""
        self.count += 1
        times = self.case.times
        run = fmpy.simulate_fmu(
            self.folder,
            validate=False,
            start_time=times[0],
            stop_time=times[-1],
            output_interval=times[1] - times[0],
            record_events=False,
            relative_tolerance=self.case.tolerance,
            fmi_type=self.case.kind,
            start_values=dict(zip(self.case.start, map(float, values), strict=True)),
            input=self.inputs,
            output=list(self.case.outputs),
            model_description=self.description,
            fmu_instance=self.instance(),
        )
        return np.column_stack([run[n] for n in self.case.outputs])

    def search(self) -> tuple[Vector, float, int, int]:
        """Values, cost, simulations, none with a Jacobian."""
        scale = np.array(list(self.case.start.values()))
        self.count = 0
        found = least_squares(
            lambda x: ((self.simulate(x * scale) - self.data) / self.sigma).ravel(),
            np.ones(scale.size),
            bounds=(0.1, 10),
            diff_step=DIFFERENCE,
            xtol=TOLERANCE,
            ftol=TOLERANCE,
            gtol=None,
        )
        self.runs = self.count
        return found.x * scale, 2 * found.cost, self.count, 0


class FmpyKept(Fmpy):
    """The same with one instance, reset before each simulation."""

    name = "FMPy, one instance, + SciPy"

    def __init__(self, case: UnitCase, path: Path, data: Vector) -> None:
        super().__init__(case, path, data)
        self._kept = instantiate_fmu(self.folder, self.description, case.kind)

    def instance(self) -> object | None:
        """The one instance, as new."""
        self._kept.reset()
        return self._kept

    def close(self) -> None:
        """Let go of the instance."""
        self._kept.freeInstance()


def _inputs(case: UnitCase) -> np.ndarray | None:
    """Inputs as FMPy takes them: one table with a column of time, twice where a value jumps."""
    if not case.inputs:
        return None
    stamps = next(iter(case.inputs.values()))[0]
    kinds = [("time", np.float64), *((n, np.float64) for n in case.inputs)]
    table = np.zeros(2 * stamps.size - 1, dtype=kinds)
    table["time"] = np.repeat(stamps, 2)[1:]
    for name, (_, values) in case.inputs.items():
        table[name] = np.repeat(values, 2)[:-1]
    return table
