"""The PEtab benchmark collection at its nominal values, beside the simulations that come with it.

    python bench/petab_collection.py FOLDER [NAME ...]

FOLDER is `Benchmark-Models` of github.com/Benchmarking-Initiative/Benchmark-Models-PEtab. For every
problem: the log-likelihood of Estimica's simulation, that of the problem's own table of simulations
(`simulatedData`), and the seconds of CPU that reading, compiling and one simulation take.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from estimica.base.errors import EstimicaError
from estimica.study.estimation import Solver
from estimica.study.petab.build import PetabModel, build
from estimica.study.petab.convert import model_of
from estimica.study.petab.likelihood import LikelihoodEvaluator, log_likelihood_of_samples
from estimica.study.petab.problem import read_problem

#: `implicit`, because some of the models are stiff and none is hurt by it
SOLVER = Solver(rtol=1e-8, atol=1e-10, method="implicit", max_seconds=120)


@dataclass(frozen=True)
class Row:
    """What became of one problem."""

    name: str
    states: int = 0
    estimated: int = 0
    samples: int = 0
    found: float = float("nan")
    table: float = float("nan")
    seconds: float = float("nan")
    remark: str = ""

    @property
    def agrees(self) -> bool:
        """Whether both likelihoods are the same to 1e-3, relative where they are large."""
        return abs(self.found - self.table) <= 1e-3 * max(1.0, abs(self.table))


def problems(folder: Path) -> Iterator[tuple[str, Path | None]]:
    """The YAML file of each problem; None where there is none."""
    for one in sorted(p for p in folder.iterdir() if p.is_dir()):
        files = [f for f in sorted(one.glob("*.yaml")) if not f.name.startswith("petab_test")]
        yield one.name, files[0] if files else None


def row(name: str, path: Path | None) -> Row:
    """Read, simulate and compare one problem."""
    if path is None:
        return Row(name, remark="its files are missing")
    begin = time.process_time()
    try:
        built = build(read_problem(path))
        model = model_of(built.flat)
        found = LikelihoodEvaluator(built, model, SOLVER).at()
    except EstimicaError as error:
        return Row(name, remark=str(error).splitlines()[0])
    seconds = time.process_time() - begin
    table, remark = of_table(built, path.parent, found.sigma)
    return Row(
        name,
        len(model.system.states),
        len(built.problem.estimated),
        len(built.problem.measurements),
        found.value,
        table,
        seconds,
        remark,
    )


def rounded(time: float) -> float:
    """A time as a table may have rounded it."""
    return float(f"{time:.5g}")


def of_table(
    built: PetabModel, folder: Path, sigma: Mapping[str, npt.NDArray[np.float64]]
) -> tuple[float, str]:
    """The likelihood of the simulations that come with a problem, with our σ where it varies."""
    files = sorted(folder.glob("simulat*.tsv"))
    if not files:
        return float("nan"), "no simulations come with it"
    with files[0].open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    ours = built.problem.measurements
    simulated: dict[str, list[float]] = {n: [] for n in built.samples}
    numbers = [float(r.get("simulation") or r["measurement"]) for r in rows]
    alike = len(rows) == len(ours) and all(
        r["observableId"] == m.observable and rounded(float(r["time"])) == rounded(m.time)
        for r, m in zip(rows, ours, strict=True)
    )
    if alike:  # row by row
        for m, y in zip(ours, numbers, strict=True):
            simulated[m.experiment].append(y)
    else:
        values: dict[tuple[str, str, float], list[float]] = {}
        for r, y in zip(rows, numbers, strict=True):
            key = (r["observableId"], r.get("simulationConditionId", ""), rounded(float(r["time"])))
            values.setdefault(key, []).append(y)
        taken: dict[tuple[str, str, float], int] = {}
        for m in ours:
            key = (m.observable, m.experiment.rpartition("→ ")[2], rounded(m.time))
            if key not in values:
                return float("nan"), f"its table lacks {m.observable} at {m.time:g}"
            k = taken.get(key, 0)
            taken[key] = k + 1
            simulated[m.experiment].append(values[key][min(k, len(values[key]) - 1)])
    total = sum(
        log_likelihood_of_samples(samples, np.array(simulated[n]), sigma[n])[0]
        for n, samples in built.samples.items()
    )
    return total, ""


def main() -> None:
    """Print the table."""
    folder, wanted = Path(sys.argv[1]), sys.argv[2:]
    print("| problem | states | estimated | samples | log-likelihood | of its table | | CPU s |")
    print("|---|---|---|---|---|---|---|---|")
    for name, path in problems(folder):
        if wanted and not any(w in name for w in wanted):
            continue
        r = row(name, path)
        verdict = r.remark or ("met" if r.agrees else "differs")
        print(
            f"| {r.name} | {r.states} | {r.estimated} | {r.samples} | {r.found:.3f} "
            f"| {r.table:.3f} | {verdict} | {r.seconds:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
