"""How often the likelihood-ratio test gives up a true null model: `python -m tests.infer.ratio_level`.

Every realisation is fitted twice, with the null model and with the larger one, both as users do.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import kstest
from tests.infer.release_problems import (
    TRUTH,
    TUNERS,
    VARIANCES,
    boiler,
    boiler_inputs,
    boiler_outputs,
)

import estimica as es

RISK = 0.05
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FOUR = {"a1": 1.0, "a2": 3.0, "b1": 0.5, "b2": 0.9, "c1": 0.8, "c2": 1.0, "d1": 0.7, "d2": 0.3}


@dataclass(frozen=True)
class Experiment:
    """A truth, and what the null model knows of it."""

    title: str
    pair: Callable[[int], tuple[es.Study, es.Study]]  # null model and larger one, from a seed


def boiler_pair(known: tuple[str, ...], criterion: str, seed: int) -> tuple[es.Study, es.Study]:
    """The drum boiler; the null model knows the true values of some tuners."""
    random = np.random.default_rng([seed, 5])
    measured = {
        n: y + np.sqrt(VARIANCES[n]) * random.standard_normal(len(y)) for n, y in _boiler().items()
    }
    study = boiler(measured, {"P": 148.0, "x2": 28.0})
    case = study.cases[0]
    if criterion == "oe":  # weighed as the noise asks for: then F is the law
        columns = {
            n: es.OutputColumn(n, disturbance=True, weight=1 / np.sqrt(VARIANCES[n]))
            for n in VARIANCES
        }
        case = es.Case(
            case.name,
            case.data,
            time="t",
            inputs=case.inputs,
            outputs=columns,
            free_start=case.free_start,
        )
    tuners = [es.Tuner(t.name, start=TRUTH[t.name], min=t.min, max=t.max) for t in TUNERS]
    held = [
        es.Tuner(t.name, start=t.start, min=t.min, max=t.max, active=t.name not in known)
        for t in tuners
    ]
    e = es.Estimation(criterion=criterion)
    return (
        study.with_(tuners=held, cases=[case], estimation=e),
        study.with_(tuners=tuners, cases=[case], estimation=e),
    )


@cache
def _boiler() -> dict[str, np.ndarray]:
    return boiler_outputs(TRUTH, *boiler_inputs())


@cache
def _four() -> tuple[es.ModelicaModel, dict[str, np.ndarray]]:
    model = es.load_model(EXAMPLES / "FourStates.mo")
    time = np.linspace(0, 40, 301)[:-1]
    inputs = {"u1": (time >= 5) * 1.0, "u2": (time >= 25) * 1.0}
    run = model.simulate(
        time,
        {n: (time, u) for n, u in inputs.items()},
        FOUR,
        outputs=["x1", "x2", "x3", "x4"],
        options=es.Options(rtol=1e-10, atol=1e-10),
    )
    return model, {"t": time, **inputs, **{n: run.value(n) for n in ("x1", "x2", "x3", "x4")}}


def four_pair(known: tuple[str, ...], seed: int) -> tuple[es.Study, es.Study]:
    """The four-state model of eq. 5.2; the null model knows the true values of some tuners."""
    model, exact = _four()
    random = np.random.default_rng([seed, 4])
    outputs = ["x1", "x2", "x3", "x4"]
    noisy = {n: exact[n] + 0.1 * random.standard_normal(len(exact[n])) for n in outputs}
    case = es.Case(
        "steps",
        pd.DataFrame({**exact, **noisy}),
        time="t",
        inputs={"u1": "u1", "u2": "u2"},
        outputs={n: n for n in outputs},
    )
    tuners = [es.Tuner(n, start=v) for n, v in FOUR.items()]
    held = [es.Tuner(n, start=v, active=n not in known) for n, v in FOUR.items()]
    return (
        es.Study(model, held, [case], criterion="ml"),
        es.Study(model, tuners, [case], criterion="ml"),
    )


@cache
def _formula(several: bool) -> object:
    from estimica.simulate.formula import formula_model

    one = {"y": "a*exp(-b*x) + c*x"}
    three = {"y1": "a*x + b", "y2": "a*x + c*x*x", "y3": "d*x + a"}
    return formula_model(three if several else one, inputs=["x"])


def small_pair(
    n: int, known: tuple[str, ...], criterion: str, sigma: float | None, seed: int
) -> tuple[es.Study, es.Study]:
    """An exponential of a handful of samples; the null model knows some tuners."""
    random = np.random.default_rng([seed, n])
    x = np.linspace(0, 2, n)
    table = pd.DataFrame({"x": x, "y": 2 * np.exp(-1.5 * x) + 0.1 * random.standard_normal(n)})
    columns = {"y": es.OutputColumn("y", sigma=sigma)}
    case = es.Case("points", table, inputs={"x": "x"}, outputs=columns)
    return _both(_formula(False), {"a": 2.0, "b": 1.5, "c": 0.0}, known, case, criterion)


def unbalanced_pair(known: tuple[str, ...], criterion: str, seed: int) -> tuple[es.Study, es.Study]:
    """Outputs of 200, 50 and 8 samples with noise levels of their own."""
    random = np.random.default_rng([seed, 8])
    x = np.linspace(0, 1, 200)
    exact = {"y1": x + 0.5, "y2": x + 0.3 * x * x, "y3": 2 * x + 1}
    table = pd.DataFrame({"x": x})
    for (name, y), count, level in zip(exact.items(), (200, 50, 8), (0.1, 0.3, 0.5), strict=True):
        rows = np.linspace(0, 199, count).astype(int)
        table[name] = np.nan
        table.loc[rows, name] = y[rows] + level * random.standard_normal(count)
    case = es.Case("points", table, inputs={"x": "x"}, outputs={n: n for n in exact})
    truth = {"a": 1.0, "b": 0.5, "c": 0.3, "d": 2.0}
    return _both(_formula(True), truth, known, case, criterion)


def _both(
    model: object, truth: dict[str, float], known: tuple[str, ...], case: es.Case, criterion: str
) -> tuple[es.Study, es.Study]:
    def study(held: tuple[str, ...]) -> es.Study:
        tuners = [es.Tuner(n, start=v, active=n not in held) for n, v in truth.items()]
        return es.Study(model, tuners, [case], criterion=criterion)  # type: ignore[arg-type]

    return study(known), study(())


EXPERIMENTS = {
    "few_8": Experiment(
        "exponential, 8 samples, `ml`, one known", partial(small_pair, 8, ("c",), "ml", None)
    ),
    "few_8_two": Experiment(
        "exponential, 8 samples, `ml`, two known", partial(small_pair, 8, ("b", "c"), "ml", None)
    ),
    "few_15": Experiment(
        "exponential, 15 samples, `ml`, one known", partial(small_pair, 15, ("c",), "ml", None)
    ),
    "few_sigma": Experiment(
        "exponential, 8 samples, `ml`, known noise, one known",
        partial(small_pair, 8, ("c",), "ml", 0.1),
    ),
    "unbalanced": Experiment(
        "outputs of 200, 50 and 8 samples, `ml`, one of the last known",
        partial(unbalanced_pair, ("d",), "ml"),
    ),
    "unbalanced_two": Experiment(
        "outputs of 200, 50 and 8 samples, `ml`, two known",
        partial(unbalanced_pair, ("c", "d"), "ml"),
    ),
    "unbalanced_oe": Experiment(
        "outputs of 200, 50 and 8 samples, `oe`, one of the last known",
        partial(unbalanced_pair, ("d",), "oe"),
    ),
    "boiler_T_D": Experiment("drum boiler, `ml`, T_D known", partial(boiler_pair, ("T_D",), "ml")),
    "boiler_all": Experiment(
        "drum boiler, `ml`, T_D, T_R and A4 known",
        partial(boiler_pair, ("T_D", "T_R", "A4"), "ml"),
    ),
    "boiler_oe": Experiment(
        "drum boiler, `oe`, T_D, T_R and A4 known",
        partial(boiler_pair, ("T_D", "T_R", "A4"), "oe"),
    ),
    "four_states": Experiment(
        "four-state model, `ml`, a1 and d2 known", partial(four_pair, ("a1", "d2"))
    ),
}


def risk(name: str, seed: int) -> tuple[float, str]:
    """The risk of one realisation and the law that it was taken from."""
    null, other = (es.fit(s) for s in EXPERIMENTS[name].pair(seed))
    test = es.likelihood_ratio(null, other)
    law = "χ²" if test.distribution == "chi2" else "F"
    return test.risk, f"{law}, {test.freedom}"


def level(name: str, count: int, workers: int = 1) -> dict[str, object]:
    """How often the true null model was given up in `count` realisations."""
    if workers > 1:
        with ProcessPoolExecutor(workers) as pool:
            found = list(pool.map(partial(risk, name), range(count), chunksize=20))
    else:
        found = [risk(name, seed) for seed in range(count)]
    risks = np.array([r for r, _ in found])
    return {
        "title": EXPERIMENTS[name].title,
        "law": found[0][1],
        "realisations": count,
        "rejected": int(np.sum(risks < RISK)),
        "share": float(np.mean(risks < RISK)),
        "uniform_p": float(kstest(risks, "uniform").pvalue),
    }


def main() -> None:
    """Run all experiments and write their JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", nargs="?", default="docs/assets/ratio_level.json", type=Path)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=1)
    asked = parser.parse_args()
    found = {}
    for name in EXPERIMENTS:
        found[name] = level(name, asked.count, asked.workers)
        print(name, found[name], file=sys.stderr, flush=True)
    result = {"risk": RISK, "experiments": found}
    asked.path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
