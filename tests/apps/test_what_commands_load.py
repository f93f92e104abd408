"""A command loads what it needs and nothing else; lists of modules, not times."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from estimica.apps.cli.commands.directory import ENTRIES, LoadedCommands
from estimica.apps.cli.demo.boiler import write_demo
from estimica.base.errors import StudyError
from estimica.base.process import python_environment
from estimica.study.file.read import read_study

PROGRAM = """
import atexit, sys
names = sys.argv.pop(1)
atexit.register(lambda: open(names, "w").write(" ".join(sys.modules)))
from estimica.apps.cli import main
main()
"""
#: large libraries; pydantic is how arguments are checked
NUMERICS = {"numpy", "scipy", "casadi", "llvmlite", "numba", "pandas"}
OTHERS = {"fmpy", "jax", "plotly", "matplotlib", "xarray", "pyarrow", "dask", "control", "lxml"}
#: what a fit of a model that was loaded before can spare, each some hundredths of a second or more
NOT_FOR_A_FIT = {
    # SciPy's packages load much of NumPy for their own documentation
    *(f"scipy.{part}" for part in ("special", "linalg", "sparse", "optimize", "stats", "signal")),
    *("numpy.f2py", "numpy.testing", "numpy.random", "charset_normalizer"),
    # the progress of a terminal, and pictures in texts
    *("rich.live", "rich.progress", "rich._emoji_codes"),
    # what reads and sorts equations
    *("estimica.source.evaluate", "estimica.source.flatten", "estimica.source.front_end"),
    *("estimica.structure.sort", "estimica.structure.causality.redefinition"),
    # tables of other commands
    *(f"estimica.study.tables.{name}" for name in ("study_file", "inference", "optimisation")),
    "estimica.study.tables.input_design",
}


@pytest.fixture(scope="module")
def boiler(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_demo(tmp_path_factory.mktemp("boiler"))


def modules(folder: Path, *arguments: str) -> set[str]:
    """What is loaded when a command ends, in a process of its own."""
    names = folder / "modules"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(names), *arguments],
        cwd=folder,
        env=python_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(names.read_text(encoding="utf-8").split())


@pytest.mark.parametrize("arguments", [("--help",), ("--version",)])
def test_help_loads_no_command_and_no_numerics(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    loaded = modules(tmp_path, *arguments)
    assert not loaded & (NUMERICS | OTHERS)
    commands = {m for m in loaded if m.startswith("estimica.apps.cli.commands.")}
    assert commands == {f"estimica.apps.cli.commands.{m}" for m in ("app", "directory")}


def test_fit_of_a_modelica_model_loads_its_kind_only(boiler: Path) -> None:
    modules(boiler.parent, "fit", boiler.name, "--no-store")  # compiles what is not compiled yet
    loaded = modules(boiler.parent, "fit", boiler.name, "--no-store")
    assert "estimica.simulate.modelica.model" in loaded
    assert loaded & (OTHERS | {"numba", "pandas"}) == set()
    assert loaded & NOT_FOR_A_FIT == set()
    kinds = ("fmu", "linear.model", "function", "filter.model")
    assert not loaded & {f"estimica.simulate.{kind}" for kind in kinds}
    others = {m for m in loaded if m.startswith("estimica.apps.cli.commands.analysis.")}
    assert others == {"estimica.apps.cli.commands.analysis.fit"}


def test_a_study_with_tables_of_other_commands_reads_them(boiler: Path, tmp_path: Path) -> None:
    more = tmp_path / "more.toml"
    (tmp_path / "DrumBoiler.mo").write_text(boiler.with_name("DrumBoiler.mo").read_text())
    (tmp_path / "run1.csv").write_text(boiler.with_name("run1.csv").read_text())
    more.write_text(boiler.read_text() + "\n[bootstrap]\nreplicates = 7\n")
    assert read_study(more).tables["bootstrap"] == {"replicates": 7}
    more.write_text(boiler.read_text() + "\n[bootstrap]\nreplicas = 7\n")
    with pytest.raises(StudyError, match="replicas"):
        read_study(more)
    more.write_text(boiler.read_text() + "\n[bootstrp]\nreplicates = 7\n")
    with pytest.raises(StudyError, match="did you mean 'bootstrap'"):
        read_study(more)


def test_lines_of_the_list_are_those_of_the_commands() -> None:
    commands = LoadedCommands()
    for name, entry in ENTRIES.items():
        command = commands[name]
        assert command.name == name
        assert entry.line == inspect.cleandoc(command.help).split("\n\n")[0].replace("\n", " ")
        # `trust` has that option for what it does itself, after it has listed the code
        takes_trust = any(p.name == "trust" for p in command.params)
        assert entry.asks == (takes_trust and name != "trust")
