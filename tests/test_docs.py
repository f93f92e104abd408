"""What the pages and the examples show, runs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.warm_python import run_script

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "tutorial").glob("*.md")),
]
COLD = ("README", "getting-started")  # in a Python that has imported nothing, as a user's has
ROOM = ("states-and-forecasts",)  # whose study is that of an example
MODELS = [
    *sorted((ROOT / "examples").glob("*.mo")),
    ROOT / "src" / "estimica" / "apps" / "cli" / "demo" / "DrumBoiler.mo",
]


def blocks(page: Path, language: str) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def run(code: list[str], folder: Path) -> None:
    done = subprocess.run(
        code, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr


def bring_fmu(folder: Path) -> None:
    """The example of an FMU, which a C compiler builds."""
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("no C compiler")
    for name in ("room.toml", "room.csv"):
        shutil.copy(ROOT / "examples" / "fmu" / name, folder)
    build = ROOT / "examples" / "fmu" / "build.py"
    run([sys.executable, str(build), "--out", "rcThermal.fmu"], folder)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=lambda p: p.stem)
def test_python_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    for model in MODELS:
        shutil.copy(model, tmp_path)
    if page.stem in ROOM:
        shutil.copytree(ROOT / "examples" / "lived_in_room", tmp_path, dirs_exist_ok=True)
    if "rcThermal.fmu" in page.read_text(encoding="utf-8"):
        bring_fmu(tmp_path)
    for text in blocks(page, "modelica"):
        name = re.match(r"(?:model|package) (\w+)", text)
        assert name, "a Modelica block begins with its class"
        (tmp_path / f"{name[1]}.mo").write_text(text, encoding="utf-8")
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks(page, "python")), encoding="utf-8")
    if page.stem in COLD:
        run([sys.executable, "-W", "error", str(script)], tmp_path)
    else:
        run_script(script, tmp_path)


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda p: p.stem)
def test_example_runs(script: Path, tmp_path: Path) -> None:
    run_script(script, tmp_path)


def test_every_example_model_has_a_script() -> None:
    def plain(path: Path) -> str:
        return path.stem.replace("_", "").lower()

    assert {plain(m) for m in MODELS} == {plain(s) for s in EXAMPLES}


def test_pages_do_not_name_files_that_are_missing() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} points to {target}"


def test_every_construct_of_the_page_names_a_test_that_exists() -> None:
    page = (ROOT / "docs" / "supported-modelica.md").read_text(encoding="utf-8")
    tests = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "tests").rglob("test_*.py"))
    named = re.findall(r"`(test_\w+)` \|$", page, flags=re.MULTILINE)
    assert named
    missing = [name for name in named if f"def {name}(" not in tests]
    assert not missing


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import warnings; warnings.warn('old')", "UserWarning: old"),
        ("import estimica; estimica.load_modl", "load_modl"),
        ("import sys; sys.exit('it is over')", "it is over"),
    ],
)
def test_a_page_that_does_not_run_is_noticed(code: str, told: str, tmp_path: Path) -> None:
    script = tmp_path / "page.py"
    script.write_text(code, encoding="utf-8")
    with pytest.raises(AssertionError, match=told):
        run_script(script, tmp_path)
