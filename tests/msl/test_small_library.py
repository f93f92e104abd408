"""The small library beside the standard library: the same names, units, values and trajectories."""

from __future__ import annotations

import os
import re

import numpy as np
import pytest
from tests.small_library_models import MODELS
from tests.source.test_small_library import parts

from estimica import load_model
from estimica.flat.system import FlatSystem
from estimica.simulate.modelica.model import ModelicaModel
from estimica.source.libraries.search import SMALL
from estimica.source.load import load_flat

pytestmark = pytest.mark.msl
TIMES = np.linspace(0.013, 1.993, 37)  # away from the events
#: the standard library forgets this unit
UNITS_OF_OUR_OWN = {"expI.I", "I"}


def facts(system: FlatSystem) -> dict[str, tuple[object, ...]]:
    def attribute(e: object) -> object:
        value = getattr(e, "op", None) == "const" and e.value  # type: ignore[attr-defined]
        return round(value, 12) if value is not False else None

    return {
        v.name: (
            v.variability,
            v.causality,
            "" if v.name in UNITS_OF_OUR_OWN else v.unit,
            attribute(v.binding),
            attribute(v.minimum),
            attribute(v.maximum),
            v.state_select,
        )
        for v in system.variables
    }


def parameters(model: ModelicaModel) -> dict[str, object]:
    return {q.name: q.value for q in model.quantities() if q.role == "parameter"}


def both(monkeypatch: pytest.MonkeyPatch, load):  # type: ignore[no-untyped-def]
    """What `load` gives with the standard library, and with the small one."""
    path = os.environ["MODELICAPATH"]
    whole = load()
    monkeypatch.setenv("MODELICAPATH", "")
    small = load()
    monkeypatch.setenv("MODELICAPATH", path)
    return whole, small


def test_each_part_has_the_same_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    names = sorted(n for n in parts() if ".Interfaces." not in n)
    assert len(names) > 150
    for name in names:
        whole, small = both(monkeypatch, lambda name=name: load_flat(name))
        assert facts(small) == facts(whole), name


@pytest.mark.parametrize("name", MODELS)
def test_the_same_model_has_the_same_trajectories(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run():  # type: ignore[no-untyped-def]
        model = load_model(MODELS[name])
        varying = ("state", "algebraic", "alias", "discrete")
        names = [q.name for q in model.quantities() if q.role in varying]
        return model, model.simulate(TIMES, outputs=names, begin=0.0)

    (whole, expected), (small, found) = both(monkeypatch, run)
    assert "small library" in small.libraries[0]
    assert "small library" not in whole.libraries[0]
    assert parameters(small) == parameters(whole)
    assert set(found.names) == set(expected.names)
    for n in expected.names:
        size = max(1.0, float(np.abs(expected.value(n)).max()))
        # both are the same equations, solved in another order: rounding only
        assert found.value(n) == pytest.approx(expected.value(n), abs=1e-9 * size), n


def test_types_constants_and_functions_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    units = (SMALL / "Modelica" / "Units.mo").read_text(encoding="utf-8")
    constants = (SMALL / "Modelica" / "Constants.mo").read_text(encoding="utf-8")
    functions = (SMALL / "Modelica" / "Math.mo").read_text(encoding="utf-8")
    packages = units.split("\n  package ")[1:]

    lines = []
    for package, text in zip(("SI", "NonSI"), packages, strict=False):
        of = f"Modelica.Units.{package}"
        lines += [f"{of}.{n} {package}_{n} = 1;" for n in re.findall(r"type (\w+)", text)]
    for n in re.findall(r"constant [\w.]+ (\w+)", constants):
        lines.append(f"Real c_{n} = Modelica.Constants.{n};")
    for n in re.findall(r"function (\w+)", packages[2]):
        lines.append(f"Real u_{n} = Modelica.Units.Conversions.{n}(7.3);")
    arguments = {"atan2": "0.3, -0.4", "acosh": "1.7", "wrapAngle": "4.2"}
    for n in re.findall(r"function (\w+)", functions):
        lines.append(f"Real m_{n} = Modelica.Math.{n}({arguments.get(n, '0.37')});")
    assert len(lines) > 150
    text = "model M\n" + "\n".join(f"  parameter {line}" for line in lines) + "\nend M;"
    whole, small = both(monkeypatch, lambda: load_model(text))
    wanted = {q.name: q for q in whole.quantities()}
    for q in small.quantities():
        of = wanted[q.name]
        assert (q.unit, q.min, q.max, q.nominal) == (of.unit, of.min, of.max, of.nominal), q.name
        assert q.value == pytest.approx(of.value, rel=1e-15), q.name
