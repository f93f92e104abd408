"""Every example against an independent solution: trajectories and exact sensitivities."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.examples.references import REFERENCES, Reference

import estimica as es

RTOL = 1e-8
OPTIONS = es.Options(rtol=RTOL, atol=1e-10)
FOLDERS = (Path("examples"), Path("src/estimica/apps/cli/demo"))
ROOT = Path(__file__).resolve().parents[2]


def load(reference: Reference) -> es.ModelicaModel:
    (path,) = [ROOT / f / reference.file for f in FOLDERS if (ROOT / f / reference.file).is_file()][
        :1
    ]
    return es.load_model(path, reference.class_)


def worst(got: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The largest deviation of each column, relative to the column's largest value."""
    scale = np.abs(wanted).max(axis=0)
    return np.abs(got - wanted).max(axis=0) / np.where(scale > 0, scale, 1.0)


@pytest.fixture(
    scope="module",
    params=[pytest.param(n, marks=pytest.mark.slow if n == "heat rod" else ()) for n in REFERENCES],
)
def case(request):
    reference = REFERENCES[request.param]
    model = load(reference)
    run = model.sensitivities(
        reference.times, reference.inputs, wrt=list(reference.wrt),
        outputs=list(reference.outputs), options=OPTIONS,
    )  # fmt: skip
    return reference, model, run


def test_trajectory_is_within_ten_tolerances(case):
    reference, _, run = case
    assert worst(run.values, reference.values()).max() <= reference.tolerances * RTOL


def test_sensitivities_are_within_1e5(case):
    reference, _, run = case
    assert worst(run.jacobian, reference.jacobian()).max() <= 1e-5


def test_simulation_without_sensitivities_agrees(case):
    reference, model, _ = case
    run = model.simulate(
        reference.times, reference.inputs, outputs=list(reference.outputs), options=OPTIONS
    )
    assert worst(run.values, reference.values()).max() <= reference.tolerances * RTOL
