"""What is compiled and kept is tied to all the code that it was made from."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import estimica
from estimica.simulate.engine import units
from estimica.simulate.filter.exact import loop as exact
from estimica.simulate.fmu.loop import unit as fmu_unit
from estimica.source.cache import code_version

PACKAGE = Path(estimica.__file__).parent
MAKERS = {"engine_function", "loop_function", "intrinsic", "Unit", "FmuUnit", "_ExactUnit"}


def compiles(path: Path) -> bool:
    """Whether a module defines a function or a unit of the engine."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            names = {d.id for d in node.decorator_list if isinstance(d, ast.Name)}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            names = {node.func.id}
        else:
            continue
        if names & MAKERS:
            return True
    return False


def stamped(stamp: Callable[[], str], monkeypatch: pytest.MonkeyPatch) -> set[Path]:
    """The files that a stamp looks at."""
    read: set[Path] = set()
    original = Path.read_bytes

    def noted(path: Path) -> bytes:
        read.add(path)
        return original(path)

    units.engine_stamp.cache_clear()
    fmu_unit._stamp.cache_clear()
    exact._stamp.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", noted)
        stamp()
    return read


def imported_by(path: Path) -> set[Path]:
    """Modules of the package that one imports by name, at its top."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("estimica."):
            for alias in node.names:
                for name in (f"{node.module}.{alias.name}", str(node.module)):
                    file = PACKAGE.parent / Path(*name.split(".")).with_suffix(".py")
                    if file.exists():
                        found.add(file)
                        break
    return found


def test_every_module_with_compiled_code_is_stamped(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = stamped(units.engine_stamp, monkeypatch)
    whole = engine | stamped(fmu_unit._stamp, monkeypatch) | stamped(exact._stamp, monkeypatch)
    compiled = {path for path in (PACKAGE / "simulate").rglob("*.py") if compiles(path)}
    assert len(compiled) > 10
    assert compiled <= whole
    assert {p for p in compiled if not {"fmu", "exact"} & set(p.parts)} <= engine


def test_what_compiled_modules_use_is_stamped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Constants and offsets of other modules are compiled in."""
    whole = stamped(fmu_unit._stamp, monkeypatch)
    whole |= stamped(units.engine_stamp, monkeypatch) | stamped(exact._stamp, monkeypatch)
    for path in (PACKAGE / "simulate").rglob("*.py"):
        if compiles(path):
            for used in imported_by(path):
                # Numba itself goes in by its version; processes and errors are not compiled
                if used.relative_to(PACKAGE).parts[0] == "simulate":
                    assert used in whole, f"{path} uses {used}, which no stamp looks at"


def test_a_change_in_a_folder_below_changes_the_stamp(tmp_path: Path) -> None:
    copy = tmp_path / "engine"
    shutil.copytree(Path(units.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    before = units.stamp_of("1", copy), code_version(copy)
    assert units.stamp_of("1", copy) == before[0]
    assert units.stamp_of("2", copy) != before[0]
    deep = copy / "part" / "deeper"
    deep.mkdir(parents=True)
    (deep / "new.py").write_text("A = 1\n")
    code_version.cache_clear()
    grown = units.stamp_of("1", copy), code_version(copy)
    (deep / "new.py").write_text("A = 2\n")
    code_version.cache_clear()
    changed = units.stamp_of("1", copy), code_version(copy)
    for k in range(2):
        assert len({before[k], grown[k], changed[k]}) == 3


def test_what_moves_to_another_file_changes_the_stamp(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("A = 1\nB = 2\n")
    (tmp_path / "b.py").write_text("C = 3\n")
    before = units.stamp_of("1", tmp_path)
    (tmp_path / "a.py").write_text("A = 1\n")
    (tmp_path / "b.py").write_text("B = 2\nC = 3\n")
    assert units.stamp_of("1", tmp_path) != before
