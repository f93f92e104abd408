"""Fits with AMICI's simulations and sensitivities and SciPy's least_squares, in their own process.

    python fit_amici_server.py JOB.json

builds the model of the job in its folder (once; the seconds are kept beside it), then answers lines
from standard input, each with one line of JSON: "fit" and "quit".
"""

from __future__ import annotations

import time

BEGUN = time.perf_counter()

import json  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402
import warnings  # noqa: E402
from pathlib import Path  # noqa: E402

from amici_server import Simulator, build  # noqa: E402


class Fitter:
    """Weighted residuals and their Jacobian from one simulation, kept until the values change."""

    def __init__(self, job: dict, folder: Path) -> None:
        import numpy as np

        self.np, self.job = np, job
        self.simulator = Simulator(job, folder)
        model = self.simulator.model
        ids = list(model.get_free_parameter_ids())
        self.places = [ids.index(n) for n in job["tuners"]]
        self.data, self.weights = np.array(job["data"]), np.array(job["weights"])
        self.start = np.array(job["start"])
        self.count = 0
        self.simulator.use(self._fastest())

    def _fastest(self) -> str:
        """The variant of the solver that is the fastest at the start."""
        self._set(self.start)
        times = {}
        for variant in self.simulator.variants:
            self.simulator.use(variant)
            self.simulator.run(1)
            if self.simulator.found.status == 0:
                times[variant] = min(self.simulator.run(1) for _ in range(3))
        self.variant = min(times, key=times.__getitem__)
        return self.variant

    def _set(self, theta: object) -> None:
        model = self.simulator.model
        values = list(model.get_free_parameters())
        for place, value in zip(self.places, theta, strict=True):
            values[place] = float(value)
        model.set_free_parameters(values)

    def evaluate(self, theta: object) -> None:
        """Residuals and Jacobian at these values."""
        np = self.np
        if self.count and np.array_equal(theta, self.at):
            return
        self.at = np.array(theta)
        self._set(theta)
        self.count += 1
        self.simulator.run(1)
        found = self.simulator.found
        n = self.data.size
        if found.status != 0:
            self.residual, self.jacobian = np.full(n, 1e6), np.zeros((n, len(self.at)))
            return
        self.residual = ((np.array(found.y) - self.data) * self.weights).ravel()
        slopes = np.array(found.sy).transpose(0, 2, 1) * self.weights[:, None]
        self.jacobian = slopes.reshape(n, -1)

    def fit(self) -> dict:
        """One fit from the start."""
        from scipy.optimize import least_squares

        np, job = self.np, self.job
        self.count = 0
        wall, cpu = time.perf_counter(), time.process_time()

        def residuals(theta: object) -> object:
            self.evaluate(theta)
            return self.residual

        def jacobian(theta: object) -> object:
            self.evaluate(theta)
            return self.jacobian

        found = least_squares(
            residuals, self.start, jacobian, x_scale=np.abs(self.start), bounds=job["bounds"],
            ftol=job["tolerance"], xtol=job["tolerance"], gtol=job["tolerance"],
        )  # fmt: skip
        return {
            "values": found.x.tolist(), "cost": 2 * float(found.cost), "evaluations": self.count,
            "wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu,
        }  # fmt: skip


def main() -> None:
    """Answer until told to quit."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever AMICI prints is not an answer
    warnings.filterwarnings("ignore")
    folder = Path(sys.argv[1]).parent
    job = json.loads(Path(sys.argv[1]).read_text())
    fresh = not (folder / "built.json").exists()
    built = build(job, folder)
    fitter = Fitter(job, folder)
    # everything but the build: AMICI and the built module are imported, the variants are tried
    imports = time.perf_counter() - BEGUN - (built if fresh else 0.0)
    print(json.dumps({"built_s": built, "import_s": imports, "variant": fitter.variant}),
          file=answers)  # fmt: skip
    for line in sys.stdin:
        if line.strip() != "fit":
            break
        print(json.dumps(fitter.fit()), file=answers)


if __name__ == "__main__":
    main()
