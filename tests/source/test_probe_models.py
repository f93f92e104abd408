"""The models that the front end was probed with: each decodes to a balanced system."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.source.flat_checks import determined, load, unknowns

from estimica.base.errors import EstimicaError

FOLDER = Path(
    os.environ.get(
        "ESTIMICA_PROBES", Path(__file__).resolve().parents[2].parent / "shared" / "probes"
    )
)
MODELS = FOLDER / "frontend" / "models"

#: file, class, number of unknowns
PLAIN = [
    ("M01_ode", "M01_ode", 4),
    ("M02_conn", "P.M02_conn", 28),
    ("M02_conn", "P.M02b", 28),
    ("M03_arrays", "Q.M03_arrays", 43),
    ("M04_if", "M04_if", 7),
    ("M05_ball", "M05_ball", 5),
    ("M06_sample", "M06_sample", 7),
    ("M07_pend", "M07_pend", 5),
    ("M08_parcap", "M08_parcap", 6),
    ("M09_init", "M09_init", 4),
    ("M10_rec", "RF.M10_rec", 9),
    ("M10_rec", "RF.M10w_while", 1),
    ("M17_delay", "M17_delay", 2),
    ("M18_ext", "X.M18_ext", 1),
    ("M19_bool", "M19_bool", 4),
    ("M20_homotopy", "M20_homotopy", 2),
    ("M23_semi", "M23_semi", 20),
]
WITH_LIBRARY = [
    ("M11_table", "M11_table", 11),
    ("M12_blocks", "M12_blocks", 66),
    ("M13_elec", "E.M13_elec", 70),
    ("M13_elec", "E.M13b", 32),
    ("M14_rot", "M14_rot", 55),
    ("M15_heat", "M15_heat", 46),
    ("M16_furuta", "M16_furuta", 1368),
    ("M22_alg", "M22_alg", 6),
    ("M24_stream", "M24_fluid", 80),
]

needs_models = pytest.mark.skipif(not MODELS.is_dir(), reason=f"no probe models in {MODELS}")


@needs_models
@pytest.mark.parametrize(("file", "name", "count"), PLAIN)
def test_probe_model(file: str, name: str, count: int) -> None:
    system = load(MODELS / f"{file}.mo", name)
    assert unknowns(system) == determined(system) == count


@needs_models
@pytest.mark.msl
@pytest.mark.parametrize(("file", "name", "count"), WITH_LIBRARY)
def test_probe_model_with_library(file: str, name: str, count: int) -> None:
    system = load(MODELS / f"{file}.mo", name)
    assert unknowns(system) == determined(system) == count


@needs_models
@pytest.mark.msl
@pytest.mark.parametrize(
    ("file", "name", "what"),
    [("M21_spatial", "M21_spatial", "spatialDistribution")],
)
def test_what_the_compiler_refuses_is_named(file: str, name: str, what: str) -> None:
    with pytest.raises(EstimicaError, match=what):
        load(MODELS / f"{file}.mo", name)
