"""Programs of the benchmark's problems with members and reference numbers, for a machine that has a
GPU with CuPy and nothing else of ours: python bench/gpu/prepare.py FOLDER."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))
from problems import PROBLEMS, RTOL, Problem

import estimica as es
from estimica.simulate.ensemble.backends import Ensemble
from estimica.simulate.ensemble.cuda import build
from estimica.simulate.ensemble.cuda.program import Program
from estimica.simulate.ensemble.members import Measured

#: members whose numbers are compared with the scalar engine's
COMPARED = 64
#: how far members lie around the problem's own tuners, as in the hand-written kernel
SPREAD = 0.05


def response_of(problem: Problem) -> object:
    """The response of the problem, as bench/ours.py makes it."""
    model = es.load_model(problem.file)
    options = es.Options(rtol=RTOL, atol=(problem.atol,) * len(model.system.states))
    return model.response(
        problem.times,
        {n: (problem.grid[:-1], values) for n, values in problem.inputs.items()},
        outputs=problem.outputs,
        wrt=list(problem.tuners),
        begin=float(problem.grid[0]),
        options=options,
    )


def main(folder: Path) -> None:
    """One program and one file of reference numbers a problem."""
    folder.mkdir(exist_ok=True, parents=True)
    for name in ("A", "B", "Rob"):
        problem = PROBLEMS[name]()
        response = response_of(problem)
        program = build.program_of(response)
        assert isinstance(program, Program), program
        program.save(folder / f"{name}.npz")
        rng = np.random.default_rng(3)
        thetas = problem.theta * (1 + SPREAD * rng.uniform(-1, 1, (COMPARED, program.m)))
        ensemble = Ensemble(response, backend="scalar")
        truth = ensemble.at(problem.theta[None])
        noise = 0.01 * np.abs(truth.Y[0]).max(axis=0)
        value = truth.Y + noise * rng.normal(size=truth.Y.shape)
        weight = np.broadcast_to(1.0 / noise, truth.Y[0].shape).copy()
        run, sums = ensemble.at(thetas), ensemble.normal(thetas, Measured(value, weight))
        np.savez(
            folder / f"{name}-reference.npz", theta=problem.theta, thetas=thetas, value=value,
            weight=weight, Y=run.Y, YS=run.YS, square=sums.square, gradient=sums.gradient,
            information=sums.information, status=run.status,
        )  # fmt: skip
        print(name, program.methods and [len(text) for text in program.methods], run.status.sum())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
