"""The house keeps its order: who may import whom, and that everything public says what it does."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "estimica"

ROOMS = (
    "base",
    "flat",
    "source",
    "structure",
    "compiled",
    "simulate",
    "data",
    "study",
    "execute",
    "estimate",
    "infer",
    "experiment",
    "optimise",
    "report",
    "apps",
)

WITHOUT_CASADI = {"base", "flat", "source", "data", "study", "infer", "report", "apps"}

# Where a heavy library may be imported; anywhere else a room would grow a second concern.
HOMES = {
    "plotly": ("report", "apps/web"),
    "jinja2": ("report", "apps/web"),
    "nicegui": ("apps/web",),
    "rich": ("report", "apps/cli"),
    "typer": ("apps/cli",),
    "matplotlib": ("report",),
    "rumoca": ("source/rumoca",),
    "numba": ("compiled/llvm/numba.py",),
    "llvmlite": ("compiled", "simulate"),
    "lark": ("source", "study"),
    "fmpy": ("simulate/fmu",),
    "distributed": ("execute",),
    "nutpie": ("infer/posterior",),
    "emcee": ("infer/posterior",),
    "arviz": ("infer/posterior",),
    "libsbml": ("source/sbml",),
    "yaml": ("study/petab",),
}

EXPORTED = {
    "BackCalculation",
    "backcalculate",
    "load_model",
    "Model",
    "ModelicaModel",
    "Optimised",
    "Options",
    "Signal",
    "Trajectory",
    "Sensitivities",
    "Response",
    "Linearisation",
    "EstimicaError",
    "SourceError",
    "UnsupportedError",
    "StructureError",
    "ModelError",
    "SimulationError",
    "Case",
    "CaseError",
    "DataError",
    "Estimation",
    "InputColumn",
    "OutputColumn",
    "Prior",
    "Solver",
    "StartValue",
    "Study",
    "StudyError",
    "Tuner",
    "TunerError",
    "read_data",
    "read_study",
    "fit",
    "Fit",
    "FitError",
    "Front",
    "InferError",
    "ExperimentError",
    "signals",
    "simulate_experiment",
    "design_input",
    "first_guess",
    "bode_guess",
    "likelihood_ratio",
    "release",
    "bootstrap",
    "by_hand",
    "criterion_map",
    "identifiability",
    "measures",
    "second_model",
    "profile",
    "Posterior",
    "sample",
    "residuals",
    "covariance",
    "bands",
    "region",
    "crossvalidate",
    "frequency_estimate",
    "prefilter_weighting",
    "frequency_function",
    "function_model",
    "state_space",
    "transfer_function",
    "Assessment",
    "Criterion",
    "DesignError",
    "Indicator",
    "montecarlo",
    "optimise",
    "pareto",
    "sweep",
    "write_petab",
}

MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0]


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imported(path: Path) -> tuple[str, ...]:
    """Dotted names of all that a module imports, also inside functions."""
    found: list[str] = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)}: relative import in line {node.lineno}"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return tuple(found)


def rooms_used(path: Path) -> Iterator[str]:
    for name in imported(path):
        parts = name.split(".")
        if parts[0] == "estimica":
            yield parts[1] if len(parts) > 1 else ""


IN_ROOMS = [m for m in MODULES if m.parent != PACKAGE]


def test_every_folder_is_a_room() -> None:
    folders = {p.name for p in PACKAGE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert folders <= set(ROOMS)


def test_imports_point_up_the_list_of_rooms() -> None:
    for path in IN_ROOMS:
        here = ROOMS.index(room_of(path))
        for room in rooms_used(path):
            assert room in ROOMS, f"{name_of(path)} imports from the package root"
            assert ROOMS.index(room) <= here, f"{name_of(path)} imports {room}, a room below"


def test_structure_does_not_know_where_equations_come_from() -> None:
    for path in IN_ROOMS:
        if room_of(path) == "structure":
            assert "source" not in rooms_used(path), name_of(path)


def test_casadi_stays_where_equations_are_compiled() -> None:
    for path in IN_ROOMS:
        if room_of(path) in WITHOUT_CASADI:
            heads = {name.split(".")[0] for name in imported(path)}
            assert "casadi" not in heads, name_of(path)


def test_heavy_libraries_stay_in_their_rooms() -> None:
    for path in MODULES:
        for name in imported(path):
            homes = HOMES.get(name.split(".")[0])
            if homes:
                assert any(f"{name_of(path)}/".startswith(home + "/") for home in homes), (
                    f"{name_of(path)} imports {name}"
                )


def test_every_module_says_what_it_is_for() -> None:
    silent = [name_of(path) for path in MODULES if not ast.get_docstring(tree_of(path))]
    assert not silent


def test_everything_public_is_documented() -> None:
    def walk(body: list[ast.stmt], prefix: str) -> Iterator[str]:
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                if node.name.startswith("_") or _is_overload(node):
                    continue
                if not ast.get_docstring(node):
                    yield prefix + node.name
                if isinstance(node, ast.ClassDef):
                    yield from walk(node.body, f"{prefix}{node.name}.")

    for path in MODULES:
        silent = list(walk(tree_of(path).body, ""))
        assert not silent, f"{name_of(path)}: no docstring on {', '.join(silent)}"


def _is_overload(node: ast.stmt) -> bool:
    names = {getattr(d, "id", getattr(d, "attr", "")) for d in getattr(node, "decorator_list", [])}
    return bool(names & {"overload", "setter"})


def test_exported_names_are_pinned() -> None:
    import estimica

    assert set(estimica.__all__) == EXPORTED
    assert all(hasattr(estimica, name) for name in EXPORTED)
    assert set(estimica.__all__) <= set(dir(estimica))


def test_import_is_quick_and_leaves_tables_and_plots_alone() -> None:
    code = (
        "import time, sys; t = time.perf_counter(); import estimica; t = time.perf_counter() - t;"
        "estimica.load_model;"
        "heavy = {'plotly', 'pandas', 'xarray', 'jinja2', 'typer', 'rich', 'pydantic'};"
        "print(t, *sorted(heavy & set(sys.modules)))"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(3)
    ]
    seconds, *heavy = min(runs, key=lambda run: float(run.stdout.split()[0])).stdout.split()
    assert not heavy
    assert float(seconds) < 1.0


def test_code_of_others_is_executed_in_one_place_only() -> None:
    """Whoever executes a text must be given a TrustedCode; so only one module may execute texts."""
    executing = {"exec", "eval", "compile", "SourceFileLoader", "ExtensionFileLoader"}
    loading = {"spec_from_file_location", "SourceFileLoader", "SourcelessFileLoader"}
    loading |= {"run_path", "run_module", "load_module", "exec_module", "ExtensionFileLoader"}
    found = set()
    for path in MODULES:
        for node in ast.walk(tree_of(path)):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Name) and called.id in executing | loading:
                found.add(name_of(path))
            if isinstance(called, ast.Attribute) and called.attr in loading:
                found.add(name_of(path))
    assert found == {"base/code/run.py"}
