"""Monte Carlo simulations of the drive beside a loop over scipy.integrate.solve_ivp (LSODA).

    python bench/montecarlo.py --simulations 10000

Both simulate the samples of examples/drive/assessment.toml (load, stiffness, dry friction) in its
two cases, with the same rtol and atol, in one process on one core. Ours are the criteria of
`estimica montecarlo`, located on dense output, with their preparation; the loop only integrates,
and measures nothing. Its right-hand side is written in two ways: plain Python with numbers (the
quickest that one writes by hand), and NumPy with vectors and matrices. Rounds are interleaved, so
that both see the same machine; of the loop a share of the samples is simulated, and its time is
counted for all of them.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp

import estimica as es
from estimica.optimise.assess.run import sampled_study
from estimica.optimise.criteria.score import DesignPoint
from estimica.optimise.design import Design, prepare_design

STUDY = Path(__file__).parents[1] / "examples" / "drive" / "assessment.toml"
NAMES = ("mLoad", "c", "fCoulomb", "kp", "ks", "Ts")
CASES = ((90.0, 0.0, 0.0), (0.0, 30.0, 90.0))  # start, end, elbow in degrees
DESIGNS = {"found": (15.2, 1.47, 0.045), "start": (2.0, 1.0, 0.1)}  # kp, ks, Ts
RTOL, ATOL = 1e-6, 1e-8  # what a study takes that says nothing else


def samples(count: int, design: str, seed: int = 1) -> np.ndarray:
    """Loads, stiffnesses and frictions as the study draws them, with one controller."""
    rng = np.random.default_rng(seed)
    drawn = [
        rng.uniform(0, 15, count),
        rng.normal(150000, 15000, count),
        rng.triangular(2, 5, 15, count),
    ]
    return np.column_stack([*drawn, *(np.full(count, v) for v in DESIGNS[design])])


def reference(case: tuple[float, float, float]):
    """Start, speed and angle of the reference motion."""
    start, way = math.radians(case[0]), math.radians(case[1] - case[0])
    ta = min(3 / 15, math.sqrt(abs(way) / 15))
    te = ta + abs(way) / (15 * ta)
    a = math.copysign(15.0, way)

    def motion(t):
        if t < ta:
            return a * t, start + a * t * t / 2
        if t < te - ta:
            return a * ta, start + a * ta * (t - ta / 2)
        if t < te:
            return a * (te - t), start + way - a * (te - t) ** 2 / 2
        return 0.0, start + way

    return start, motion


def inertia(case, load):
    """Of arm and load."""
    return 6 + (8 / 3 + load) * (0.5**2 + 0.7**2 + 0.7 * math.cos(math.radians(case[2])))


def plain(case, load, c, friction, kp, ks, Ts):
    """Start and right-hand side in plain Python."""
    J = inertia(case, load)
    start, motion = reference(case)
    tanh = math.tanh

    def f(t, x):
        phiM, phi, wM, w, xi, tau = x
        wRef, phiRef = motion(t)
        e = wRef + kp * (phiRef - phiM) - wM
        gear = c * (phiM - phi) + 200 * (wM - w)
        push = tau - gear - 30 * wM - friction * tanh(wM / 0.05)
        return [wM, w, push / 14, gear / J, e, (8000 * ks * (e + xi / Ts) - tau) / 0.004]

    return [start, start, 0.0, 0.0, 0.0, 0.0], f


def vectors(case, load, c, friction, kp, ks, Ts):
    """Start and right-hand side with NumPy: ẋ = A x + B u + friction."""
    J = inertia(case, load)
    start, motion = reference(case)
    k = 8000 * ks / 0.004
    A = np.array(
        [
            [0, 0, 1, 0, 0, 0],
            [0, 0, 0, 1, 0, 0],
            [-c / 14, c / 14, -230 / 14, 200 / 14, 0, 1 / 14],
            [c / J, -c / J, 200 / J, -200 / J, 0, 0],
            [-kp, 0, -1, 0, 0, 0],
            [-k * kp, 0, -k, 0, k / Ts, -1 / 0.004],
        ]
    )
    B = np.array([[0, 0], [0, 0], [0, 0], [0, 0], [1, kp], [k, k * kp]])
    rub = np.array([0, 0, friction / 14, 0, 0, 0])

    def f(t, x):
        return A @ x + B @ np.array(motion(t)) - rub * np.tanh(x[2] / 0.05)

    return np.array([start, start, 0.0, 0.0, 0.0, 0.0]), f


def loop(write, rows) -> float:
    """CPU seconds of solve_ivp over some samples in both cases."""
    begun = time.process_time()
    for row in rows:
        for case in CASES:
            start, f = write(case, *map(float, row))
            run = solve_ivp(f, (0, 3), start, method="LSODA", rtol=RTOL, atol=ATOL)
            assert run.success
    return time.process_time() - begun


def prepared(study, rows) -> Design:
    """The criteria as an assessment prepares them."""
    design = prepare_design(sampled_study(study, NAMES, rows[:1]))
    design.make_quick()
    return design


def ours(design, rows) -> float:
    """CPU seconds of all criteria at some samples, as an assessment takes them."""
    begun = time.process_time()
    for row in rows:
        point = design.at(design.unknowns.coordinates(row), slopes=False)
        assert isinstance(point, DesignPoint)
    return time.process_time() - begun


def main() -> None:
    """Time both and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--share", type=float, default=0.02, help="of the samples for the loop")
    parser.add_argument("--design", choices=DESIGNS, default="found")
    options = parser.parse_args()
    study = es.read_study(STUDY)
    rows = samples(options.simulations // len(CASES), options.design)
    parts = np.array_split(rows, options.rounds)
    prepared(study, rows)  # what is compiled once on a computer is compiled
    check(study, rows[:5])
    begun = time.process_time()
    design = prepared(study, rows)
    own = time.process_time() - begun
    other = numpy = simulated = 0.0
    for part in parts:
        few = part[: max(1, int(options.share * len(part)))]
        own += ours(design, part)
        other += loop(plain, few) * len(part) / len(few)
        numpy += loop(vectors, few[: max(1, len(few) // 4)]) * len(part) / max(1, len(few) // 4)
        simulated += len(part) * len(CASES)
    told = f"{simulated:.0f} simulations of design '{options.design}'"
    print(f"{told}, rtol {RTOL:g}, atol {ATOL:g}, CPU time on one core")
    print(f"  estimica, simulation and two criteria  {own:8.2f} s  {1e3 * own / simulated:.3f} ms")
    for name, t in (("plain Python", other), ("NumPy", numpy)):
        told = f"solve_ivp LSODA, {name}, simulation alone"
        print(f"  {told:38} {t:8.2f} s  {1e3 * t / simulated:.3f} ms  ratio {t / own:.1f}")


def check(study, rows) -> None:
    """Both simulate the same: the peak of the deviation after rest agrees."""
    design = prepare_design(sampled_study(study, NAMES, rows[:1]))
    for row in rows:
        point = design.at(design.unknowns.coordinates(row), slopes=False)
        for k, case in enumerate(CASES):
            for write in (plain, vectors):
                start, f = write(case, *map(float, row))
                run = solve_ivp(
                    f, (0, 3), start, method="LSODA", rtol=1e-9, atol=1e-10, max_step=2e-3
                )
                end = math.radians(case[1])
                _, motion = reference(case)
                rest = np.array([motion(t) == (0.0, motion(3.0)[1]) for t in run.t])
                peak = np.abs(run.y[1, rest] - end).max()
                assert abs(peak - point.values[2 * k]) < 1e-3 * peak, (row, case)


if __name__ == "__main__":
    main()
