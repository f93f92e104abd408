"""One door for models: what a source means, and that a kind of model loads its own modules only."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from estimica.simulate.load import ModelSource

FORMULA_PARSER = {
    "estimica.source",
    "estimica.source.formula",
    "estimica.source.syntax",
    "estimica.source.syntax.expressions",
    "estimica.source.syntax.tokens",
    "estimica.source.syntax.tree",
}
#: what a run is given, and nothing that runs
ENGINE_VALUES = {
    "estimica.simulate.engine",
    "estimica.simulate.engine.layout",
    "estimica.simulate.engine.options",
}


def loaded_by(code: str) -> set[str]:
    """Modules that are loaded after a program in a process of its own."""
    program = f"{code}\nimport sys\nprint(*sorted(sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=os.environ
    )
    return set(run.stdout.split())


def below(modules: set[str], *rooms: str) -> set[str]:
    names = [f"estimica.{room}" for room in rooms]
    return {m for m in modules if any(m == n or m.startswith(f"{n}.") for n in names)}


def test_a_transfer_function_loads_neither_engine_nor_modelica_nor_fmus() -> None:
    modules = loaded_by(
        "from estimica.simulate.load import ModelSource, load_source\n"
        "model = load_source(ModelSource('K/(1 + tau*s)', fix={'K': 1.0, 'tau': 2.0}))\n"
        "model.simulate([0.0, 1.0], {'u': 1.0})"
    )
    assert below(modules, "simulate.engine") == ENGINE_VALUES
    assert below(modules, "source") <= FORMULA_PARSER
    assert not below(
        modules,
        "structure",
        "simulate.fmu",
        "simulate.function",
        "simulate.modelica",
        "simulate.formula",
    )
    assert "casadi" not in modules


def test_a_function_loads_neither_engine_nor_modelica_nor_fmus() -> None:
    modules = loaded_by(
        "import estimica as es\n"
        "model = es.load_model(lambda u, t, K=1.0: K*u)\n"
        "model.simulate([0.0, 1.0], {'u': 1.0})"
    )
    assert below(modules, "simulate.engine") == ENGINE_VALUES
    assert not below(
        modules, "source", "structure", "simulate.fmu", "simulate.linear", "simulate.modelica"
    )
    assert not modules & {"numba", "llvmlite", "casadi"}


def test_a_class_that_was_loaded_before_loads_no_compiler() -> None:
    text = (
        "model Tank parameter Real A = 2; parameter Real k = 1; input Real q; Real h(start = 1); "
        "output Real out; equation A*der(h) = q - out; out = k*h; end Tank;"
    )
    load = f"import estimica as es\nmodel = es.load_model({text!r})\n"
    loaded_by(load)
    modules = loaded_by(f"{load}assert model.system.states == ('h',), repr(model)")
    assert not modules & {"casadi", "llvmlite", "scipy", "importlib.metadata"}
    assert not below(
        modules,
        "structure.sort",
        "structure.events",
        "structure.index",
        "source.evaluate",
        "source.flatten",
        "source.formula",
        "simulate.engine",
        "simulate.response",
        "simulate.trajectory",
        "compiled.llvm",
        "compiled.equations",
        "base.view",
    )
    then = loaded_by(f"{load}print(model.simulate([0.0, 1.0], {{'q': 1.0}}))")
    assert "casadi" in then


def test_a_formula_loads_neither_engine_nor_modelica_nor_fmus() -> None:
    modules = loaded_by(
        "from estimica.simulate.formula import formula_model\nformula_model({'y': 'a*x'}, ['x'])"
    )
    assert below(modules, "source") <= FORMULA_PARSER
    assert not below(
        modules,
        "structure",
        "simulate.engine",
        "simulate.fmu",
        "simulate.function",
        "simulate.linear",
        "simulate.modelica",
    )
    assert not modules & {"numba", "llvmlite", "casadi"}


def test_the_door_to_fmus_loads_neither_modelica_nor_other_kinds() -> None:
    modules = loaded_by("import estimica.simulate.fmu.model")
    assert below(modules, "source") <= {
        "estimica.source",
        "estimica.source.cache",
    }
    assert below(modules, "simulate.engine") == {*ENGINE_VALUES, "estimica.simulate.engine.units"}
    assert not below(
        modules,
        "structure",
        "simulate.formula",
        "simulate.function",
        "simulate.linear",
        "simulate.modelica",
    )
    assert "casadi" not in modules


@pytest.mark.parametrize(
    "code",
    [
        "es.load_model('model M Real x(start=1, fixed=true); equation der(x) = -x; end M;')",
        "es.load_model(__import__('pathlib').Path(__import__('sys').argv[1]))",
    ],
    ids=["Modelica", "Base Modelica"],
)
def test_modelica_loads_no_other_kind(code: str, tmp_path: Path) -> None:
    file = tmp_path / "decay.bmo"
    file.write_text(
        "//! base 0.1.0\npackage 'M'\nmodel 'M'\n  Real 'x'(start = 1.0, fixed = true);\n"
        "equation\n  der('x') = -'x';\nend 'M';\nend 'M';\n"
    )
    program = f"import sys\nsys.argv[1:] = [{str(file)!r}]\nimport estimica as es\n{code}"
    modules = loaded_by(program)
    assert below(modules, "simulate.modelica")
    assert not below(
        modules, "simulate.fmu", "simulate.formula", "simulate.function", "simulate.linear"
    )


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("Pump.fmu", "fmu"),
        ("Pump.FMU", "fmu"),
        ("model.py:pump", "code"),
        ("model.PY", "code"),
        ("K/(1 + tau*s)", "transfer function"),
        ("Pump.mo", "modelica"),
        ("Pump.bmo", "modelica"),
        ("Library.Pumps.Pump", "modelica"),
        ("s", "modelica"),
    ],
)
def test_what_a_source_means(source: str, kind: str) -> None:
    assert ModelSource(source).kind == kind


def test_a_file_called_like_a_formula_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "pump (s)").mkdir()
    assert ModelSource("pump (s)").kind == "transfer function"
    assert ModelSource("pump (s)", folder=tmp_path).kind == "modelica"


def test_modelica_is_a_file_or_the_name_of_a_class(tmp_path: Path) -> None:
    (tmp_path / "Tank").mkdir()
    assert ModelSource("Library.Tank", folder=tmp_path).of_modelica == "Library.Tank"
    assert ModelSource("Tank", folder=tmp_path).of_modelica == tmp_path / "Tank"
    assert ModelSource("Missing.mo", folder=tmp_path).of_modelica == tmp_path / "Missing.mo"
    assert ModelSource("Missing.mo").of_modelica == "Missing.mo"
