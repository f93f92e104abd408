"""Runs AMICI in an interpreter that has it, for the benchmark in another.

    python amici_server.py JOB.json

builds the model of the job in its folder (once; the seconds are kept beside it), then answers lines
from standard input, each with one line of JSON: "variants" (seconds of each, results beside the
model as <variant>.npz), "use VARIANT", "run N" (CPU seconds for one evaluation), "quit".
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
import warnings
from pathlib import Path


def build(job: dict, folder: Path) -> float:
    """Seconds to turn the Antimony text into a compiled module, measured when it was done."""
    note = folder / "built.json"
    if note.exists():
        return json.loads(note.read_text())["seconds"]
    from amici.importers.antimony import MeasurementChannel, antimony2amici

    begun = time.perf_counter()
    antimony2amici(
        job["text"],
        model_name=job["name"],
        output_dir=str(folder / "module"),
        observation_model=[MeasurementChannel(n, formula=f) for n, f in job["outputs"].items()],
        fixed_parameters=job["fixed"],
        compute_conservation_laws=False,
        verbose=logging.ERROR,
    )
    seconds = time.perf_counter() - begun
    note.write_text(json.dumps({"seconds": seconds}))
    return seconds


class Simulator:
    """The compiled model and its solver in several variants."""

    def __init__(self, job: dict, folder: Path) -> None:
        import amici
        import amici.sim.sundials as sundials

        self.sundials, self.folder = sundials, folder
        self.model = amici.import_model_module(job["name"], str(folder / "module")).get_model()
        self.model.set_timepoints(job["times"])
        ids = list(self.model.get_free_parameter_ids())
        self.model.set_parameter_list([ids.index(n) for n in job["tuners"]])
        self.rtol, self.atol = job["rtol"], job["atol"]
        self.variants = {
            "BDF, simultaneous": ("BDF", "simultaneous"),
            "BDF, staggered": ("BDF", "staggered"),
        }
        if not job["stiff"]:
            self.variants["Adams, simultaneous"] = ("adams", "simultaneous")
        self.use(next(iter(self.variants)))

    def use(self, variant: str) -> None:
        """Set up the solver."""
        s = self.sundials
        method, sensitivities = self.variants[variant]
        solver = self.solver = self.model.create_solver()
        solver.set_relative_tolerance(self.rtol)
        solver.set_absolute_tolerance(self.atol)
        solver.set_sensitivity_order(s.SensitivityOrder.first)
        solver.set_sensitivity_method(s.SensitivityMethod.forward)
        solver.set_internal_sensitivity_method(getattr(s.InternalSensitivityMethod, sensitivities))
        solver.set_linear_multistep_method(getattr(s.LinearMultistepMethod, method))
        solver.set_max_steps(100_000)

    def run(self, n: int) -> float:
        """CPU seconds for one evaluation, the mean of n."""
        begun = time.thread_time()
        for _ in range(n):
            self.found = self.sundials.run_simulation(self.model, self.solver)
        return (time.thread_time() - begun) / n

    def contest(self) -> dict[str, float]:
        """Seconds of each variant that works; its results go into a file."""
        import numpy as np

        times = {}
        for variant in self.variants:
            self.use(variant)
            self.run(1)
            if self.found.status != 0:
                continue
            Y, J = np.array(self.found.y), np.array(self.found.sy).transpose(0, 2, 1)
            np.savez(self.folder / f"{variant}.npz", Y=Y, J=J)
            times[variant] = min(self.run(2) for _ in range(3))
        return times


def main() -> None:
    """Answer until told to quit."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever AMICI prints is not an answer
    warnings.filterwarnings("ignore")
    job = json.loads(Path(sys.argv[1]).read_text())
    folder = Path(sys.argv[1]).parent
    seconds = build(job, folder)
    simulator = Simulator(job, folder)
    print(json.dumps({"built_s": seconds}), file=answers)
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        if word == "variants":
            print(json.dumps(simulator.contest()), file=answers)
        elif word == "use":
            simulator.use(rest)
            print("{}", file=answers)
        elif word == "run":
            print(json.dumps({"seconds": simulator.run(int(rest))}), file=answers)
        else:
            break


if __name__ == "__main__":
    main()
