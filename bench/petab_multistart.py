"""Multistart hits and CPU seconds of Estimica beside pyPESTO with AMICI, on PEtab problems.

    python -P bench/petab_multistart.py estimica FOLDER TABLES NAME ... [--starts 20]
    OTHER/bin/python bench/petab_multistart.py pypesto FOLDER TABLES NAME ... [--starts 20]
    python -P bench/petab_multistart.py table FOLDER TABLES NAME ...

FOLDER is `Benchmark-Models` of github.com/Benchmarking-Initiative/Benchmark-Models-PEtab, TABLES a
folder for what is found. Each side runs in the Python that has it: Estimica needs
`estimica[petab]`; the other side needs pypesto, amici, fides, petab and swig, and a C++ compiler
and cmake on the path. Nothing but NumPy is imported before a side is chosen.

Both sides search from the same starts, drawn with one seed between the bounds on each parameter's
scale, with their default settings: Estimica's fit, and pyPESTO's Fides with AMICI's forward
sensitivities and Fisher information; a start may take `--seconds`, by default 20. A start that
cannot be simulated is a miss. A hit is within
0.1 of the least negative log-likelihood that either side or the collection's nominal values have.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import resource
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

HIT = 0.1
SEED = 17

Vector = npt.NDArray[np.float64]
Said = dict[str, object]
Starts = Mapping[str, list[float]]


def cpu() -> float:
    """Seconds of CPU of this process and of those that it has waited for: compilers."""
    own, others = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


def yaml_of(folder: Path) -> Path:
    """The YAML file of a problem."""
    files = (f for f in sorted(folder.glob("*.yaml")) if not f.name.startswith("petab_test"))
    return next(files)


def starts_of(folder: Path, count: int) -> dict[str, list[float]]:
    """Values of every estimated parameter, unscaled, one for each start."""
    with next(iter(sorted(folder.glob("parameters*.tsv")))).open(newline="") as file:
        rows = [r for r in csv.DictReader(file, delimiter="\t") if float(r["estimate"]) == 1]
    rng = np.random.default_rng(SEED)
    found = {}
    for row in rows:
        low, high = float(row["lowerBound"]), float(row["upperBound"])
        drawn = rng.random(count)
        if row["parameterScale"] == "lin":
            found[row["parameterId"]] = (low + drawn * (high - low)).tolist()
        else:
            least, most = math.log(low), math.log(high)
            found[row["parameterId"]] = np.exp(least + drawn * (most - least)).tolist()
    return found


# --- the two sides -------------------------------------------------------------------------------


def estimica(folder: Path, starts: Starts, builds: Path, limit: float) -> Said:
    """Every start of Estimica."""
    from estimica.estimate.run.one_start import find
    from estimica.estimate.setup import prepare
    from estimica.study.file.read import read_study
    from estimica.study.petab.build import build
    from estimica.study.petab.convert import model_of
    from estimica.study.petab.likelihood import LikelihoodEvaluator, jacobian_of
    from estimica.study.petab.problem import read_problem

    path = yaml_of(folder)
    problem = build(read_problem(path))
    aliases = problem.problem.aliases
    samples = sum(map(len, problem.samples.values()))
    constant = 0.5 * samples * math.log(2 * math.pi) - jacobian_of(problem)
    begin = cpu()
    setup = prepare(read_study(path, asked={"estimate": {"max_seconds": limit}}))
    cases = setup.calibration()
    names = [u.label for u in cases.unknowns.items]
    ours = {aliases.get(n, n): v for n, v in starts.items()}
    built = cpu() - begin
    assert set(names) == set(ours), set(names) ^ set(ours)

    def search(k: int) -> float:
        q = cases.unknowns.coordinates(np.array([ours[n][k] for n in names]))
        point = find(setup, cases, cases.unknowns.clipped(q)).point
        return math.inf if point is None else 0.5 * point.cost + constant

    nominal = LikelihoodEvaluator(problem, model_of(problem.flat), setup.study.solver).at().value
    count = len(next(iter(starts.values())))
    return {"build": built, "nominal": -nominal, **searched(search, count)}


def pypesto(folder: Path, starts: Starts, builds: Path, limit: float) -> Said:
    """Every start of pyPESTO with Fides and AMICI."""
    import logging

    import fides
    import petab.v1 as petab
    from pypesto.optimize import FidesOptimizer, minimize
    from pypesto.petab import PetabImporter

    logging.disable(logging.CRITICAL)
    begin = cpu()
    problem = petab.Problem.from_yaml(str(yaml_of(folder)))
    if petab.measurement_table_has_timepoint_specific_mappings(problem.measurement_df):
        petab.flatten_timepoint_specific_output_overrides(problem)  # AMICI asks for that
    importer = PetabImporter(
        problem, output_folder=str(builds / folder.name), model_name=folder.name
    )
    whole = importer.create_problem(importer.create_objective_creator().create_objective())
    built = cpu() - begin
    scales = problem.parameter_df["parameterScale"]
    scaled = {"lin": float, "log": math.log, "log10": math.log10}
    free = [whole.x_names[k] for k in whole.x_free_indices]

    def search(k: int) -> float:
        guess = np.array([scaled[scales[n]](starts[n][k]) for n in free])
        whole.set_x_guesses([whole.get_full_vector(guess, whole.x_fixed_vals)])
        found = minimize(
            whole,
            optimizer=FidesOptimizer(
                options={fides.Options.MAXTIME: limit}, verbose=logging.CRITICAL
            ),
            n_starts=1,
            progress_bar=False,
            filename=None,
        )
        return float(found.optimize_result[0].fval)

    return {"build": built, **searched(search, len(starts[free[0]]))}


SIDES: Mapping[str, Callable[[Path, Starts, Path, float], Said]] = {
    "estimica": estimica,
    "pypesto": pypesto,
}


def searched(search: Callable[[int], float], count: int) -> Said:
    """The negative log-likelihood that each start has led to, and the seconds of CPU it took."""
    costs, seconds = [], []
    for k in range(count):
        begin = cpu()
        costs.append(search(k))
        seconds.append(cpu() - begin)
        print(f"  start {k}: {costs[-1]:.4f} in {seconds[-1]:.2f} s", flush=True)
    return {"costs": costs, "seconds": seconds}


# --- the table -----------------------------------------------------------------------------------


def table(tables: Path, names: Iterable[str]) -> None:
    """Print what both sides have found."""
    print(
        "| problem | estimated | starts | best | best of each | hits | hits of pyPESTO | CPU s ",
        end="",
    )
    print("| CPU s of pyPESTO | of AMICI's build | ratio | with the build |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for name in names:
        ours, theirs = (json.loads((tables / f"{s}_{name}.json").read_text()) for s in SIDES)
        best = min([*ours["costs"], *theirs["costs"], ours["nominal"]])
        hits = [sum(c <= best + HIT for c in side["costs"]) for side in (ours, theirs)]
        mine, its = sum(ours["seconds"]) + ours["build"], sum(theirs["seconds"])
        print(
            f"| {name.split('_')[0]} | {ours['estimated']} | {len(ours['costs'])} | {best:.3f} "
            f"| {min(ours['costs']):.3f}, {min(theirs['costs']):.3f} "
            f"| {hits[0]} | {hits[1]} | {mine:.1f} | {its:.1f} | {theirs['build']:.1f} "
            f"| {its / mine:.1f} | {(its + theirs['build']) / mine:.1f} |"
        )


def main() -> None:
    """Run one side, or print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("side", choices=[*SIDES, "table"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("tables", type=Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args()
    given.tables.mkdir(parents=True, exist_ok=True)
    if given.side == "table":
        return table(given.tables, given.names)
    for name in given.names:
        print(f"{given.side} {name}", flush=True)
        folder = given.folder / name
        starts = starts_of(folder, given.starts)
        begin = time.perf_counter()
        said = SIDES[given.side](folder, starts, given.tables / "amici", given.seconds)
        said |= {"wall": time.perf_counter() - begin, "estimated": len(starts)}
        (given.tables / f"{given.side}_{name}.json").write_text(json.dumps(said, indent=1))
    return None


if __name__ == "__main__":
    main()
