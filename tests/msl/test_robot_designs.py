"""The r3 robot of the library against the figures that the paper of Elmqvist and others prints.

The paper says neither how wide the band of the speed is nor where the axes 1, 4, 5 and 6 are:
0.01 rad/s and zero were found by trial, with the settling times of its start.
"""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import estimica as es

pytestmark = [pytest.mark.msl, pytest.mark.slow]

HERE = Path(__file__).resolve().parents[2] / "examples" / "robot"
#: here late swings leave the band by 5 to 13 % that do not in the paper; the page says so
LATER = {(2, "Low 1"), (2, "Low 2")}
AXIS = ("load.phi", "pathPlanning.path.q[1]", "load.w", "pathPlanning.path.qd[1]")


@cache
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("paper_designs", HERE / "paper_designs.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def study(name: str) -> es.Study:
    return es.read_study(HERE / f"{name}.toml")


@pytest.mark.parametrize("design", [0, 1, 2], ids=["start", "first", "second"])
@pytest.mark.parametrize("case", [0, 1, 2, 3], ids=["High 1", "Low 1", "High 2", "Low 2"])
def test_the_full_robot_does_what_the_paper_prints(case, design):
    tuners, (overshoots, times) = list(script().PRINTED.items())[design]
    given = dict(zip(("kp2", "ks2", "Ts2"), tuners, strict=True))
    name = study("robot").cases[case].name
    overshoot, settled = script().criteria(study("robot"), name, script().SIGNALS, given)
    assert overshoot / 0.003 == pytest.approx(overshoots[case], rel=0.01)
    if (design, name) not in LATER:
        assert settled / 0.3 == pytest.approx(times[case], rel=0.01)


def test_criteria_of_one_axis_are_those_of_its_samples():
    start = {"kp": 2.0, "ks": 1.0, "Ts": 0.1}
    found = es.sweep(study("axis"), vary={n: [v] for n, v in start.items()}, curves=0)
    for case in study("axis").cases:
        overshoot, settled = script().criteria(study("axis"), case.name, AXIS, start)
        values = {
            p.criterion.name: found.weighted[0, k]
            for k, p in enumerate(found.places)
            if p.case == case.name
        }
        assert values["overshoot"] * 0.00088 == pytest.approx(overshoot, rel=0.01)
        assert values["settling time"] * 0.1 == pytest.approx(settled, abs=2e-4)  # two samples
    assert found.weighted.max() == pytest.approx(1.559, abs=0.01)


def test_the_design_found_for_one_axis_is_better_than_its_start():
    found = es.sweep(study("axis_assessment"), vary={"ks": [1.01439]}, curves=0)
    assert found.weighted.max() < 1.15  # 1.56 at the start
