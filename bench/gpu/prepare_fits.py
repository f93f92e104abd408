"""Fits with everything that a machine with a GPU, NumPy and CuPy needs to repeat them a million
times: python bench/gpu/prepare_fits.py FOLDER."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "interval_coverage"))
from plants import ENZYME

import estimica as es
from estimica.estimate.batch.fits import BatchFits
from estimica.estimate.run.one_start import limits_of
from estimica.execute.pieces import seeds
from estimica.execute.threads import one_thread
from estimica.infer.bootstrap.resampling import Gaussian, resampler
from estimica.infer.refit import fit_context_of
from estimica.simulate.ensemble.cuda import build
from estimica.simulate.ensemble.cuda.program import Program

EXAMPLES = Path(__file__).parents[2] / "examples"
#: replicates whose estimates by the single search are compared with those of the device
COMPARED = 200
#: a thousandth of what the device does, for the time beside it
THOUSANDTH = 1000
#: where t quantiles are tabulated, over 1/ν
PLACES = 400


def boiler() -> es.Fit:
    """The boiler of the examples: 500 samples of two outputs, seven unknowns."""
    return es.fit(es.read_study(EXAMPLES / "drum_boiler" / "drum_boiler.toml"))


def enzyme() -> es.Fit:
    """Few samples of a model that is far from linear: eight of each output, three unknowns."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "Enzyme.mo"
        path.write_text(ENZYME, encoding="utf-8")
        model = es.load_model(path)
    t = np.linspace(0.5, 4.0, 8)
    truth = {"V": 1.0, "K": 0.7, "g": 1.5}
    run = model.simulate(np.concatenate([[0.0], t]), parameters=truth, outputs=["s", "p"])
    rng = np.random.default_rng(2)
    data = {"time": t} | {n: run.value(n)[1:] + 0.05 * rng.standard_normal(8) for n in ("s", "p")}
    case = es.Case("run", data, outputs={"s": "s", "p": "p"}, begin=0.0)
    return es.fit(es.Study(model, [es.Tuner(n, start=v) for n, v in truth.items()], [case], "ml"))


def main(folder: Path) -> None:
    """A program, the arrays of its search, and reference numbers, of each fit."""
    folder.mkdir(exist_ok=True, parents=True)
    for name, made in (("boiler", boiler), ("enzyme", enzyme)):
        fit = made()
        assert fit.outcome.ok, fit.outcome
        with one_thread():
            prepared, told = _prepared(fit, folder / f"{name}-program.npz")
        np.savez(folder / f"{name}-fit.npz", **prepared)
        (folder / f"{name}.json").write_text(json.dumps(told, indent=1), encoding="utf-8")
        print(name, told)


def _prepared(fit: es.Fit, path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    place = fit_context_of(fit)
    fits = BatchFits(place.objective, limits_of(fit.study.estimation), place.threshold)
    (case,) = fits.cases
    assert case.is_direct, "the device searches the tuners of the program"
    program = build.program_of(case.ensemble.response)
    assert isinstance(program, Program), program
    program.save(path)
    source = resampler(place, "parametric", None)
    assert isinstance(source.source, Gaussian)
    drawn = [source.measured(seed) for seed in seeds(1, COMPARED)]
    compared, seconds = _by_single_searches(fit)
    at, scoring, limits = fits.problem.coordinates, fits.problem.scoring, fits.limits_at_data()
    arrays = {
        f"coordinates_{n}": getattr(at, n)
        for n in ("scale", "log", "lower", "upper", "prior_mean", "prior_sigma", "prior_on")
    }
    arrays |= {f"scoring_{n}": getattr(scoring, n) for n in ("level", "known", "count")}
    arrays |= {
        "estimate": place.q,
        "clean": np.column_stack([p.value for p in source.predictions]),
        "sigma": np.array([np.max(s) for s in source.source.sigmas]),
        "weight": case.weight,
        "data": case.measured([b.measured.value[None] for b in place.objective.blocks])[0],
        "low": limits.low[0], "high": limits.high[0], "resolution": limits.resolution[0],
        "compared_data": case.measured([np.stack(v) for v in zip(*drawn, strict=True)]),
        "compared_values": compared.values[:COMPARED],
        "compared_numbers": np.array(compared.numbers[:COMPARED]),
        "fit_stderr": fit.accuracy.stderr, "fit_interval": fit.accuracy.interval,
        "profile": es.profile(fit).intervals[["low", "high"]].to_numpy(float),
        **_quantiles(),
    }  # fmt: skip
    told = {
        "labels": [u.label for u in fit.unknowns.items],
        "constant": scoring.constant,
        "independent": scoring.independent,
        "threshold": place.threshold,
        "tolerance": fits.problem.tolerance,
        "cost": fit.cost,
        "rise": _rise(fit),
        "processor_seconds_for_1000": seconds,
    }
    return arrays, told


def _by_single_searches(fit: es.Fit) -> tuple[es.Bootstrap, dict[str, float]]:
    """A bootstrap by single searches, and the seconds of both ways on this processor."""
    single = es.fit(fit.study.with_(execute=es.Execution(backend="scalar")))
    es.bootstrap(fit, 200, workers=2)  # compiled before
    begun = perf_counter()
    es.bootstrap(fit, THOUSANDTH, workers=2)
    vector = perf_counter() - begun
    begun = perf_counter()
    found = es.bootstrap(single, THOUSANDTH)
    return found, {"vector, 2 threads": vector, "single searches": perf_counter() - begun}


def _rise(fit: es.Fit) -> list[float]:
    """How much the cost rises to the end of each profile's 95 % interval."""
    from estimica.estimate.objective.cost import Point
    from estimica.infer.profile.threshold import thresholds

    place = fit_context_of(fit)
    point = place.objective.at(place.q)
    assert isinstance(point, Point)
    return [float(r) for r in thresholds(fit, place.objective, point, 0.95).rises]


def _quantiles() -> dict[str, np.ndarray]:
    """97.5 % quantiles of Student's t over 1/ν, from one degree of freedom on."""
    from scipy.special import ndtri, stdtrit

    inverse = np.linspace(0.0, 1.0, PLACES)
    quantile = np.concatenate([[ndtri(0.975)], stdtrit(1 / inverse[1:], 0.975)])
    return {"quantile_inverse": inverse, "quantile": quantile}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
