"""Benchmark of starts: consistent initial values by compiled code beside the search in Python.

    python bench/starts.py [--rounds N]

Every round times both in turn, in CPU time, one start after the other, many at once, a fit and an
ensemble of the circuit; ratios are medians over the rounds, times the best of them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from unittest.mock import patch

import numpy as np
from ours import Ours
from problems import PROBLEMS, Problem, Vector
from rich.console import Console
from rich.table import Table

import estimica as es
from estimica.simulate.ensemble.backends import Ensemble
from estimica.simulate.ensemble.scalar import begin
from estimica.simulate.response import Response
from estimica.simulate.starts.compiled import CompiledStarts

AT_REST = """model AtRest "Three tanks that begin where nothing moves"
  parameter Real q = 0.02;
  parameter Real k1 = 0.05; parameter Real k2 = 0.04; parameter Real k3 = 0.03;
  Real h1(start = 0.5); Real h2(start = 0.4); Real h3(start = 0.3); Real f(start = 0.01);
initial equation
  der(h1) = 0; der(h2) = 0; der(h3) = 0;
equation
  der(h1) = q - f; f + 2*f^3 = k1*(h1 - h2); der(h2) = f - k2*(h2 - h3);
  der(h3) = k2*(h2 - h3) - k3*h3;
end AtRest;
"""
MEMBERS = 64
#: what is timed: how often it is done in one go, and what it is
Work = dict[str, tuple[int, Callable[[], object]]]


def starts_of(name: str, response: Response) -> Work:
    """One after the other, and many at once."""
    noise = np.random.default_rng(1).standard_normal((MEMBERS, len(response.tuners)))
    thetas = response.tuners * (1 + 0.02 * noise)
    rows, u = response.with_all_tuners(thetas), response.pieces.values[0]
    initialiser = response.configuration.initialiser

    def one_by_one() -> None:
        for row in rows:
            initialiser.start(row, response.begin, u)

    return {
        f"{name}, one by one": (MEMBERS, one_by_one),
        f"{name}, {MEMBERS} at once": (MEMBERS, partial(begin, response, thetas)),
    }


def study_of(problem: Problem) -> es.Study:
    """The tuners of the circuit from its outputs, with noise."""
    model, times = es.load_model(problem.file), problem.times
    inputs = {n: (problem.grid[:-1], v) for n, v in problem.inputs.items()}
    run = model.simulate(times, inputs=inputs, outputs=[*problem.outputs, *problem.inputs])
    rng = np.random.default_rng(3)
    table: dict[str, Vector] = {"time": times}
    table |= {n: run.value(n) for n in problem.inputs}
    table |= {n: run.value(n) + 0.01 * rng.standard_normal(len(times)) for n in problem.outputs}
    columns = {n: n for n in problem.outputs}
    case = es.Case("bench", table, inputs={n: n for n in problem.inputs}, outputs=columns)
    tuners = [es.Tuner(n, start=1.1 * v) for n, v in problem.tuners.items()]
    return es.Study(model, tuners, [case])


def work() -> Work:
    """What is timed, by models of its own; all of it done once, so that all is compiled."""
    problem = PROBLEMS["Circ"]()
    circuit = Ours(problem)
    at_rest = es.load_model(AT_REST).response(
        np.linspace(0, 1, 5), outputs=["h1"], wrt=["q", "k1", "k2", "k3"]
    )
    noise = np.random.default_rng(1).standard_normal((MEMBERS, len(circuit.theta)))
    thetas = circuit.theta * (1 + 0.02 * noise)
    ensemble = Ensemble(circuit.response, "vector")
    done = starts_of("circuit", circuit.response) | starts_of("at rest", at_rest)
    done["circuit, run of one"] = (1, partial(circuit.response.at, circuit.theta))
    done["circuit, vectors of 8"] = (MEMBERS, partial(ensemble.at, thetas))
    done["circuit, a fit"] = (1, partial(es.fit, study_of(problem)))
    for _, function in done.values():
        function()
    return done


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with patch.object(CompiledStarts, "of", lambda problem: None):
        contestants = [work()]  # models that have begun in Python go on so
    contestants.append(work())
    seconds = np.empty((rounds, len(contestants[0]), 2))
    for k in range(rounds):
        for j, done in enumerate(contestants):
            for i, (count, function) in enumerate(done.values()):
                begun = time.process_time()
                function()
                seconds[k, i, j] = (time.process_time() - begun) / count
    best, ratio = 1e6 * seconds.min(axis=0), np.median(seconds[..., 0] / seconds[..., 1], axis=0)
    table = Table("", "in Python, µs", "compiled, µs", "times as quick")
    for i, name in enumerate(contestants[0]):
        table.add_row(name, f"{best[i, 0]:.1f}", f"{best[i, 1]:.1f}", f"{ratio[i]:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
