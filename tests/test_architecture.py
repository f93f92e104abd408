"""The house keeps its order: who may import whom, and that everything public says what it does."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

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
    "numba": ("compiled/llvm/numba.py",),
    "llvmlite": ("compiled", "simulate"),
    "fmpy": ("simulate/fmu",),
    "distributed": ("execute",),
    "nutpie": ("infer/posterior",),
    "emcee": ("infer/posterior",),
    "arviz": ("infer/posterior",),
    "libsbml": ("source/sbml",),
    "yaml": ("study/petab",),
    "dask": ("execute/workers",),
    "pymoo": ("optimise/methods", "optimise/pareto"),
    "SALib": ("optimise/assess",),
    "control": ("simulate",),
    "jax": ("simulate/function",),
    "xarray": ("simulate",),
    "pydantic": ("study",),
    "threadpoolctl": ("execute",),
    "mpmath": ("infer",),
    "tomlkit": ("study",),
    "openpyxl": ("data",),
    "pyarrow": ("data",),
    "h5py": ("data", "source/external/matrix_files.py"),
}

EXPORTED = {
    "BackCalculation",
    "Change",
    "formula_model",
    "write_demo",
    "backcalculate",
    "load_model",
    "load_result",
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
    "Filter",
    "InputColumn",
    "OutputColumn",
    "Prior",
    "Reading",
    "Solver",
    "Execution",
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
    "find_noise",
    "release",
    "bootstrap",
    "by_hand",
    "cost_curve",
    "criterion_map",
    "identifiability",
    "measures",
    "second_model",
    "profile",
    "Monitor",
    "MonitorResult",
    "Posterior",
    "sample",
    "residuals",
    "covariance",
    "bands",
    "forecast",
    "predict",
    "states",
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

MOST_FILES = 15  # of one folder, its __init__ not counted: more is not taken in at one glance
#: folders that may hold more, and why
LARGE_FOLDERS: dict[str, str] = {}
#: files that may repeat the name of their folder, and why
REPEATING = {
    "study/study": "the noun that the room is about",
    "apps/web/jobs/job": "one of them; the other files queue, start and stop jobs",
}
#: sub-folders and files of one room that import each other, and why
KNOWN_CYCLES: dict[frozenset[str], str] = {}
#: who may call something of others while it is imported: `atexit` knows no other way
CALLS_ON_IMPORT = {"atexit.register"}


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0]


def dotted_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(("estimica", *(parts[:-1] if parts[-1] == "__init__" else parts)))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def statements(body: list[ast.stmt], typing: bool = False) -> Iterator[tuple[ast.stmt, bool]]:
    """All statements at any depth, and whether only type checkers see them."""
    for node in body:
        yield node, typing
        here = typing or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
        for part in ("body", "orelse", "finalbody"):
            yield from statements(getattr(node, part, []), here and part == "body")
        for branch in (*getattr(node, "handlers", []), *getattr(node, "cases", [])):
            yield from statements(branch.body, here)


class Imports(NamedTuple):
    """Dotted names of what a module imports, also inside functions: all, and when it runs."""

    all: tuple[str, ...]
    at_run_time: tuple[str, ...]


@cache
def imports_of(path: Path) -> Imports:
    names: list[tuple[str, bool]] = []
    for node, typing in statements(tree_of(path).body):
        if isinstance(node, ast.Import):
            names += [(alias.name, typing) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)}: relative import in line {node.lineno}"
            names += [(f"{node.module}.{alias.name}", typing) for alias in node.names]
    return Imports(tuple(n for n, _ in names), tuple(n for n, typing in names if not typing))


def imported(path: Path) -> tuple[str, ...]:
    return imports_of(path).all


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


WITH_FOLDERS = {path.parent.parent for path in IN_ROOMS}


def part_of(path: Path) -> str:
    """The folder that a file is in; where that has folders itself, the file stands by itself."""
    return name_of(path if path.parent in WITH_FOLDERS else path.parent)


def parts_used() -> dict[str, dict[str, str]]:
    """By part of a room: the parts of the same room that it imports, and one import as proof."""
    places = {dotted_of(path): path for path in IN_ROOMS}
    used: dict[str, dict[str, str]] = {}
    for path in IN_ROOMS:
        if path.name == "__init__.py":
            continue
        for name in imports_of(path).at_run_time:
            there = places.get(name) or places.get(name.rpartition(".")[0])
            if there and there.parent == path.parent and there.parent.parent != PACKAGE:
                continue  # files of one folder below a room may know each other
            if there and there.name != "__init__.py" and room_of(there) == room_of(path):
                proof = f"{name_of(path)} imports {name_of(there)}"
                used.setdefault(part_of(path), {}).setdefault(part_of(there), proof)
    return {part: {p: why for p, why in to.items() if p != part} for part, to in used.items()}


def cycles(used: dict[str, dict[str, str]]) -> list[frozenset[str]]:
    def reached(part: str) -> set[str]:
        seen: set[str] = set()
        ahead = [part]
        while ahead:
            new = set(used.get(ahead.pop(), {})) - seen
            seen |= new
            ahead += new
        return seen

    behind = {part: reached(part) for part in used}
    return sorted(
        {
            frozenset(p for p in behind[part] if part in behind.get(p, ()))
            for part in used
            if part in behind[part]
        },
        key=sorted,
    )


def test_parts_of_a_room_do_not_import_each_other_in_a_circle() -> None:
    used = parts_used()
    for circle in cycles(used):
        proofs = [used[a][b] for a in sorted(circle) for b in sorted(used[a]) if b in circle]
        assert circle in KNOWN_CYCLES, "\n".join([f"circle of {sorted(circle)}:", *proofs])


def test_a_circle_is_noticed() -> None:
    used = {"a": {"b": ""}, "b": {"c": ""}, "c": {"b": ""}, "d": {"a": ""}}
    assert cycles(used) == [frozenset({"b", "c"})]


def test_folders_are_small() -> None:
    count = Counter(p.parent for p in MODULES if p.name != "__init__.py")
    large = {name_of(f): n for f, n in count.items() if n > MOST_FILES}
    assert {f: n for f, n in large.items() if f not in LARGE_FOLDERS} == {}


def repeats(folder: str, stem: str) -> bool:
    """Whether the name of a file says again what its folder says: jobs/job, fmu/fmu_unit."""
    return any(
        stem == word or stem.startswith(f"{word}_") or stem.endswith(f"_{word}")
        for word in {folder, folder.removesuffix("s")}
    )


def test_no_file_repeats_the_name_of_its_folder() -> None:
    again = {
        name_of(path.with_suffix("")) for path in IN_ROOMS if repeats(path.parent.name, path.stem)
    }
    assert again - set(REPEATING) == set()


def test_exceptions_are_still_needed() -> None:
    count = Counter(name_of(p.parent) for p in MODULES if p.name != "__init__.py")
    assert [f for f in LARGE_FOLDERS if count[f] <= MOST_FILES] == []
    assert [f for f in REPEATING if not (PACKAGE / f"{f}.py").is_file()] == []
    assert [sorted(c) for c in KNOWN_CYCLES if c not in cycles(parts_used())] == []


def changes_of_others(path: Path) -> Iterator[str]:
    """What a module changes outside itself when it is imported: calls and assignments."""
    foreign = {
        (alias.asname or alias.name).split(".")[0]
        for node in tree_of(path).body
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }

    def root(node: ast.expr) -> str:
        while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
            node = node.func if isinstance(node, ast.Call) else node.value
        return node.id if isinstance(node, ast.Name) else ""

    for node in tree_of(path).body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            if root(node.value) in foreign:
                yield ast.unparse(node.value.func)
        elif isinstance(node, (ast.Assign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                place = ast.unparse(target)
                own = place.startswith("sys.modules[__name__]")
                if not own and not isinstance(target, ast.Name) and root(target) in foreign:
                    yield place
        for decorator in getattr(node, "decorator_list", ()):
            if "regist" in ast.unparse(decorator):
                yield f"@{ast.unparse(decorator)}"


def test_imports_fill_no_registries() -> None:
    """What there is must not depend on what happens to have been imported."""
    for path in MODULES:
        changed = set(changes_of_others(path)) - CALLS_ON_IMPORT
        assert not changed, f"{name_of(path)} changes others when it is imported: {changed}"


def result_modules() -> Iterator[Path]:
    for path in IN_ROOMS:
        classes = (node for node in tree_of(path).body if isinstance(node, ast.ClassDef))
        if any(ast.unparse(base).endswith("Result") for node in classes for base in node.bases):
            yield path


def below(kind: type) -> Iterator[type]:
    for child in kind.__subclasses__():
        yield child
        yield from below(child)


def test_results_are_frozen_and_say_how_they_ended_and_who_shows_them() -> None:
    from estimica.base.result import Result

    for path in result_modules():
        import_module(dotted_of(path))
    kinds = [kind for kind in below(Result) if kind.__module__.startswith("estimica.")]
    assert kinds
    for kind in kinds:
        name = f"{kind.__module__}.{kind.__name__}"
        assert is_dataclass(kind), name
        assert kind.__dataclass_params__.frozen, f"{name} is not frozen"  # type: ignore[attr-defined]
        fields = {f.name for f in dataclass_fields(kind)}
        assert "outcome" in fields or hasattr(kind, "outcome"), f"{name} has no outcome"
        presenter = import_module(kind.presenter)
        assert callable(presenter.tables), f"{name}: {kind.presenter} shows no tables"


def test_the_table_of_presenters_names_what_there_is() -> None:
    from estimica.base import presenters

    named = [function for kind in presenters.RENDERERS.values() for function in kind.values()]
    named += [presenters.PAGE_WRITER, presenters.FIGURE_WRITER]
    named += presenters.VERDICTS.values()
    for functions in presenters.SECTIONS.values():
        named += functions
    for function in named:
        assert callable(presenters.presenter(function)), function


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


def test_a_misspelt_public_name_is_told_with_the_right_one() -> None:
    import estimica

    with pytest.raises(
        AttributeError, match="has no attribute 'bootstrp'; did you mean 'bootstrap'"
    ):
        _ = estimica.bootstrp  # type: ignore[attr-defined]


def test_import_is_quick_and_leaves_tables_and_plots_alone() -> None:
    code = (
        "import time, sys; t = time.perf_counter(); import estimica; t = time.perf_counter() - t;"
        "estimica.load_model;"
        "heavy = {'plotly', 'pandas', 'xarray', 'jinja2', 'typer', 'rich', 'pydantic'};"
        "print(t, *sorted(heavy & set(sys.modules)))"
    )
    for _ in range(3):  # a busy machine may be slow once
        run = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        seconds, *heavy = run.stdout.split()
        assert not heavy
        if float(seconds) < 1.0:
            break
    assert float(seconds) < 1.0


def test_code_of_others_is_executed_in_one_place_only() -> None:
    """Whoever executes a text must be given a TrustedCode; so only one module may execute texts."""
    executing = {"exec", "eval", "compile", "SourceFileLoader", "ExtensionFileLoader"}
    loading = {"spec_from_file_location", "SourceFileLoader", "SourcelessFileLoader"}
    loading |= {"run_path", "run_module", "load_module", "exec_module", "ExtensionFileLoader"}
    spelt = re.compile(rf"\b({'|'.join(executing | loading)})\b")
    found = set()
    for path in MODULES:
        if not spelt.search(path.read_text(encoding="utf-8")):
            continue  # to walk all trees takes seconds
        for node in ast.walk(tree_of(path)):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Name) and called.id in executing | loading:
                found.add(name_of(path))
            if isinstance(called, ast.Attribute) and called.attr in loading:
                found.add(name_of(path))
    assert found == {"base/code/run.py"}
