"""Loads and simulates mutated models, one JSON line a case; run by test_robustness in a process."""

from __future__ import annotations

import json
import sys
import time
import traceback
from pathlib import Path

import numpy as np

import estimica as es

ROOT = Path(__file__).resolve().parents[1]
SOURCES = {
    "DrumBoiler": ROOT / "src/estimica/apps/cli/demo/DrumBoiler.mo",
    "NonlinearCircuit.ParallelCircuit": ROOT / "examples/NonlinearCircuit.mo",
    "DeadZoneCircuit.WithEvents": ROOT / "examples/DeadZoneCircuit.mo",
    "Pendulum": ROOT / "examples/Pendulum.mo",
    "FurutaPendulum": ROOT / "examples/FurutaPendulum.mo",
    "BouncingBall.RestingBall": ROOT / "examples/BouncingBall.mo",
    "Thermostat": ROOT / "examples/Thermostat.mo",
    "Robertson": ROOT / "examples/Robertson.mo",
    "CoulombMotor": ROOT / "examples/CoulombMotor.mo",
    "FourStates": ROOT / "examples/FourStates.mo",
}
OPERATORS = ["+", "-", "*", "/", "^", "<", ">", "<=", "==", "and", "sqrt(", "log(", "der(", "pre("]


def mutate(text: str, rng: np.random.Generator) -> str:
    """One to three small injuries: numbers, operators, names, lines, characters."""
    for _ in range(rng.integers(1, 4)):
        kind = rng.integers(7)
        lines = text.split("\n")
        k = int(rng.integers(len(lines)))
        if kind == 0:
            del lines[k]
        elif kind == 1:
            lines.insert(k, lines[int(rng.integers(len(lines)))])
        elif kind == 2:
            tokens = lines[k].split(" ")
            j = int(rng.integers(len(tokens)))
            tokens[j] = str(rng.choice(OPERATORS))
            lines[k] = " ".join(tokens)
        elif kind == 3:
            digits = [i for i, c in enumerate(lines[k]) if c.isdigit()]
            if digits:
                i = int(rng.choice(digits))
                new = str(rng.choice(["0", "-1", "1e300", "1e-300", "7", "1e9"]))
                lines[k] = lines[k][:i] + new + lines[k][i + 1 :]
        elif kind == 4:
            letters = [i for i, c in enumerate(lines[k]) if c.isalpha()]
            if letters:
                i = int(rng.choice(letters))
                lines[k] = lines[k][:i] + str(rng.choice(list("abxyzR"))) + lines[k][i + 1 :]
        elif kind == 5:
            pairs = [("+", "-"), ("*", "/"), (">", "<"), ("-", "+")]
            old, new = pairs[int(rng.integers(len(pairs)))]
            lines[k] = lines[k].replace(old, new, 1)
        else:
            i = int(rng.integers(len(lines[k]) + 1))
            lines[k] = lines[k][:i] + str(rng.choice(list("();=.\"'é\x00"))) + lines[k][i:]
        text = "\n".join(lines)
    return text


def one(seed: int) -> dict[str, object]:
    """Case `seed`: a mutated source, or a sound one with wild parameter values."""
    rng = np.random.default_rng(seed)
    name = list(SOURCES)[seed % len(SOURCES)]
    text = SOURCES[name].read_text(encoding="utf-8")
    wild = seed % 4 == 0
    if not wild:
        text = mutate(text, rng)
    model = es.load_model(text, name)
    parameters = {}
    if wild:
        tunable = [n for n, row in model.parameters.iterrows() if row["tunable"]]
        for n in rng.choice(tunable, 2, replace=False):
            parameters[str(n)] = float(rng.choice([0, -1, 1e-12, 1e12, 3.0, 0.5]))
    stop = model.experiment.stop or 10.0
    wrt = [n for n, row in model.parameters.iterrows() if row["tunable"]][:3]
    run = model.sensitivities(np.linspace(0, stop, 20), parameters=parameters, wrt=wrt)
    finite = bool(np.isfinite(run.values).all() and np.isfinite(run.jacobian).all())
    return {"outcome": "result" if finite else "silent NaN"}


def main() -> None:
    """Cases `first` to `last`; every line says how one ended."""
    first, last = int(sys.argv[1]), int(sys.argv[2])
    for seed in range(first, last):
        begun = time.perf_counter()
        try:
            report = one(seed)
        except es.EstimicaError as error:
            report = {"outcome": "error", "code": error.code, "message": error.message}
        except Exception:
            report = {"outcome": "traceback", "message": traceback.format_exc()}
        report |= {"seed": seed, "seconds": time.perf_counter() - begun}
        print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
