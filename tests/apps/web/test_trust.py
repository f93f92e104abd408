"""Trust: code that a study names runs only after the user has agreed to that very content."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from estimica.apps.cli import consent as trusted
from estimica.apps.cli.commands.app import app
from estimica.study.file.trust import NamedCode, Trust, code_of, state_folder, untrusted_code

MARK = "import pathlib; pathlib.Path(__file__).with_name('ran').touch()\n"
LINE = f"{MARK}def line(x, t, a=1.0):\n    return a*x\n"
STUDY = """
[model]
source = "own.py:line"
[tune]
a = 1.0
[[case]]
name = "points"
data = "points.csv"
inputs = { x = "x" }
outputs = { y = "y" }
"""


@pytest.fixture(autouse=True)
def asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is trusted yet."""
    monkeypatch.delenv("ESTIMICA_TRUST")
    monkeypatch.setenv("ESTIMICA_STATE", str(tmp_path / "state"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "from elsewhere"
    place.mkdir()
    (place / "own.py").write_text(LINE)
    (place / "study.toml").write_text(STUDY)
    (place / "points.csv").write_text("time,x,y\n0,0,0\n1,1,2.1\n2,2,3.9\n3,3,6\n")
    return place


def estimica(*arguments: object, answer: str | None = None) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], input=answer)


def ran(folder: Path) -> bool:
    return (folder / "ran").exists()


# --- what counts as code -------------------------------------------------------------------------


def named(tables: dict[str, Any], folder: Path) -> list[tuple[str, str, str]]:
    return [(c.where, c.name, c.kind) for c in code_of(tables, folder)]


def test_every_place_that_can_name_code_is_found(folder: Path) -> None:
    for name in ("criterion.py", "design.py", "odd:name.py"):
        (folder / name).write_text("def f(x): return x\n")
    (folder / "room.FMU").write_bytes(b"PK")
    tables = {
        "model": {"source": "room.FMU", "class": "x"},
        "estimate": {"criterion": "criterion.py:f"},
        "criterion": [{"name": "a", "of": "y"}, {"name": "b", "function": "design.py:f"}],
        "case": [{"data": "points.csv", "prefilter": {"function": "odd:name.py:f"}}],
        "later": {"deep": [{"list": ["own.py"]}]},
    }
    assert named(tables, folder) == [
        ("[model] source", "room.FMU", "FMU"),
        ("[estimate] criterion", "criterion.py", "Python"),
        ("criterion 'b' function", "design.py", "Python"),
        ("[[case]] 1 prefilter.function", "odd:name.py", "Python"),
        ("[later] deep.list", "own.py", "Python"),
    ]


def test_hashes_are_those_of_the_files(folder: Path) -> None:
    (code,) = code_of({"model": {"source": "own.py:line"}}, folder)
    assert code.sha256 == hashlib.sha256(LINE.encode()).hexdigest()
    assert code.path == (folder / "own.py").resolve()
    assert code.text == f"Python 'own.py' (sha256 {code.sha256[:12]}…) in [model] source"


def test_modelica_formulas_and_missing_files_are_no_code(folder: Path) -> None:
    (folder / "M.mo").write_text('function f external "C"; end f;')
    for source in (
        "M.mo",
        "K/(1 + T*s)",
        "missing.py:f",
        "missing.fmu",
        "x.py\0:f",
        "y" * 5000 + ".py",
    ):
        assert code_of({"model": {"source": source}}, folder) == ()
    assert untrusted_code(folder / "missing.toml") == ()
    (folder / "broken.toml").write_text("[model\nsource = 'own.py'")
    assert untrusted_code(folder / "broken.toml") == ()


def test_modules_beside_the_file_that_it_imports_count(folder: Path) -> None:
    (folder / "own.py").write_text("import numpy, helper\nfrom tools.deep import x\n")
    (folder / "helper.py").write_text("import second\nimport own\n")
    (folder / "second.py").write_text("")
    (folder / "unused.py").write_text("")
    (folder / "tools").mkdir()
    (folder / "tools" / "deep.py").write_text("")
    found = named({"model": {"source": "own.py:line"}}, folder)
    assert found == [
        ("[model] source", "own.py", "Python"),
        ("[model] source (imported)", "helper.py", "Python"),
        ("[model] source (imported)", "tools/deep.py", "Python"),
        ("[model] source (imported)", "second.py", "Python"),
    ]
    (folder / "numpy.py").write_text("")
    assert "numpy.py" in [n for _, n, _ in named({"model": {"source": "own.py"}}, folder)]


def test_modelica_that_calls_c_is_code_where_openmodelica_reads_it(folder: Path) -> None:
    (folder / "Plain.mo").write_text("model Plain Real x; equation der(x) = -x; end Plain;")
    (folder / "Calls.mo").write_text('function f external "C" y = g(x); end f;')
    library = folder / "Lib" / "Resources" / "Library"
    library.mkdir(parents=True)
    (folder / "Lib" / "package.mo").write_text("package Lib end Lib;")
    (library / "libg.so").write_bytes(b"\x7fELF")

    def model(source: str, *libraries: str) -> dict[str, Any]:
        table = {"source": source, "libraries": list(libraries), "frontend": "openmodelica"}
        return {"model": table}

    assert named(model("Plain.mo"), folder) == []
    assert named({"model": {"source": "Calls.mo"}}, folder) == []
    kind = "Modelica with native code"
    assert named(model("Calls.mo"), folder) == [("[model] source", "Calls.mo", kind)]
    assert named(model("Plain.mo", "Lib"), folder) == [("[model] libraries", "Lib", kind)]


# --- what is remembered --------------------------------------------------------------------------


def test_another_content_needs_another_agreement(folder: Path) -> None:
    study = folder / "study.toml"
    codes = untrusted_code(study)
    assert [c.name for c in codes] == ["own.py"]
    Trust().add(codes)
    assert untrusted_code(study) == ()
    (folder / "own.py").write_text(LINE + "#")
    assert [c.name for c in untrusted_code(study)] == ["own.py"]
    (folder / "own.py").write_text(LINE)
    assert untrusted_code(study) == ()
    Trust().remove(codes)
    assert untrusted_code(study) == codes


@pytest.mark.skipif(sys.platform == "win32", reason="modes of files differ")
def test_what_is_remembered_is_the_users_own(folder: Path, tmp_path: Path) -> None:
    Trust().add(untrusted_code(folder / "study.toml"))
    kept = tmp_path / "state" / "trusted.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    (entry,) = json.loads(kept.read_text())["trusted"].values()
    assert entry["kind"] == "Python"
    assert list(kept.parent.iterdir()) == [kept]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"trusted": 3}', "\x80", "[" * 100_000])
def test_a_damaged_memory_trusts_nothing(folder: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "trusted.json").write_text(text, encoding="latin-1")
    assert len(untrusted_code(folder / "study.toml")) == 1
    Trust().add(untrusted_code(folder / "study.toml"))
    assert untrusted_code(folder / "study.toml") == ()


def test_the_state_folder_follows_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ESTIMICA_STATE")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_STATE_HOME", "/x")
    assert state_folder() == Path("/x/estimica")
    monkeypatch.delenv("XDG_STATE_HOME")
    assert state_folder() == Path.home() / ".local/state/estimica"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert state_folder() == Path.home() / "Library/Application Support/estimica"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", "/y")
    assert state_folder() == Path("/y/estimica/state")


# --- commands ------------------------------------------------------------------------------------


def test_without_a_terminal_foreign_code_does_not_run(folder: Path) -> None:
    result = estimica("fit", folder / "study.toml")
    assert result.exit_code == 2
    sha = hashlib.sha256(LINE.encode()).hexdigest()[:12]
    assert result.stderr == (
        f"error Q050: study '{folder / 'study.toml'}' runs code on your machine: Python 'own.py' "
        f"(sha256 {sha}…) in [model] source; read it, then say --trust, or answer the question at "
        "a terminal\n"
    )
    assert not ran(folder)
    told = json.loads(estimica("check", folder / "study.toml", "--json").stdout)
    assert told["outcome"]["code"] == "Q050"
    assert not ran(folder)


def test_trust_runs_it_and_remembers(folder: Path) -> None:
    result = estimica("fit", folder / "study.toml", "--trust", "--quiet", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["parameters"]["a"]["value"] == pytest.approx(27.9 / 14)
    assert ran(folder)
    assert estimica("check", folder / "study.toml").exit_code == 0
    (folder / "own.py").write_text(LINE + "#")
    assert "Q050" in estimica("check", folder / "study.toml").stderr


def test_at_a_terminal_the_user_is_asked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trusted, "at_terminal", lambda: True)
    for answer in ("n\n", "\n"):
        result = estimica("check", folder / "study.toml", answer=answer)
        assert result.exit_code == 2
        assert "  Python 'own.py' (sha256 " in result.stderr
        assert "Run it? [y/N]" in result.stderr
        assert "Q051: study" in result.stderr
        assert "was not run: its code is not trusted" in result.stderr
        assert not ran(folder)
    assert estimica("check", folder / "study.toml", answer="y\n").exit_code == 0
    assert ran(folder)
    assert "Run it?" not in estimica("check", folder / "study.toml").stderr


def test_a_second_study_is_asked_about_too(folder: Path) -> None:
    plain = folder / "plain.toml"
    plain.write_text('[static]\nexpression = "a*x"\n' + STUDY.partition('line"')[2])
    result = estimica("identifiability", plain, "--second", folder / "study.toml")
    assert "Q050" in result.stderr
    assert not ran(folder)


def test_machines_may_trust_everything(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ESTIMICA_TRUST", "all")
    assert estimica("check", folder / "study.toml").exit_code == 0
    assert not Trust().path.exists()


def test_a_file_named_on_the_command_line_is_not_asked_about(folder: Path) -> None:
    source, data = f"{folder / 'own.py'}:line", folder / "points.csv"
    result = estimica("new", source, data, "--output", folder / "drafted.toml")
    assert ran(folder)
    assert "Q05" not in result.stderr


def test_the_python_api_does_not_ask(folder: Path) -> None:
    import estimica as es

    assert es.read_study(folder / "study.toml").tuners[0].name == "a"
    assert ran(folder)


def test_a_memory_that_cannot_be_written_is_a_warning(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ESTIMICA_STATE", str(tmp_path / "file"))
    result = estimica("check", folder / "study.toml", "--trust")
    assert result.exit_code == 0
    assert "warning Q052: cannot remember what is trusted in" in result.stderr
    assert "set ESTIMICA_STATE to a folder that can be written" in result.stderr


def test_every_command_about_a_study_asks() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    about_studies = {
        name: {p.name for p in command.params}
        for name, command in commands.items()
        if any(p.name == "study" for p in command.params)
    }
    assert len(about_studies) >= 14
    assert all("trust" in names for names in about_studies.values())


def test_a_file_of_the_folder_does_not_stand_in_for_a_module(folder: Path) -> None:
    """A job begins in the folder of its study: `python -m` alone would import from there."""
    from estimica.apps.web.jobs.process import JobProcess

    for name in ("typer", "tomllib", "numpy", "estimica"):
        (folder / f"{name}.py").write_text(MARK)
    output = folder / "printed"
    process = JobProcess(["check", str(folder / "study.toml"), "--json"], folder, output)
    assert process.wait() == 2
    assert json.loads(output.read_text())["outcome"]["code"] == "Q050"
    assert not ran(folder)


def test_a_bench_refuses_code_and_imports_nothing_of_the_folder(folder: Path) -> None:
    from estimica.apps.web.worker.client import ModelWorker
    from estimica.base.errors import WebError

    for name in ("json", "pydantic", "numpy", "estimica"):
        (folder / f"{name}.py").write_text(MARK)
    (folder / "plain.toml").write_text('[static]\nexpression = "a*x"\n[tune]\na = 1\n')

    async def asked(study: str) -> dict[str, Any]:
        bench = ModelWorker(folder / study, folder)
        try:
            return await bench.ask("check")
        finally:
            await bench.close()

    with pytest.raises(WebError, match="agree first"):
        asyncio.run(asked("study.toml"))
    assert "problems" in asyncio.run(asked("plain.toml"))
    assert not ran(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="no such terminals")
def test_a_command_in_a_pipe_does_not_wait_for_an_answer(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "estimica", "check", folder / "study.toml"],
        input="y\n",
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ,
        check=False,
    )
    assert done.returncode == 2
    assert not ran(folder)


def test_code_is_a_plain_value() -> None:
    code = NamedCode("[model] source", "a.fmu", Path("a.fmu"), "FMU", "0" * 64)
    assert code == NamedCode("[model] source", "a.fmu", Path("a.fmu"), "FMU", "0" * 64)
    assert not Trust().holds(code)


# --- what runs is what was agreed to -------------------------------------------------------------


@pytest.fixture
def known(folder: Path) -> Path:
    """A study whose code the user knows: the file, a helper of it, and a link to it."""
    harmless = LINE.replace(MARK, "import helper\n")
    (folder / "own.py").write_text(harmless)
    (folder / "helper.py").write_text("")
    Trust().add(untrusted_code(folder / "study.toml"))
    assert estimica("check", folder / "study.toml").exit_code == 0
    return folder


def edited_file(folder: Path) -> None:
    (folder / "own.py").write_text(LINE)


def edited_helper(folder: Path) -> None:
    (folder / "helper.py").write_text(MARK)


def swapped_link(folder: Path) -> None:
    (folder / "other.py").write_text(LINE)
    (folder / "own.py").unlink()
    (folder / "own.py").symlink_to("other.py")


def named_another(folder: Path) -> None:
    (folder / "other.py").write_text(LINE)
    (folder / "study.toml").write_text(STUDY.replace("own.py", "other.py"))


def added_criterion(folder: Path) -> None:
    (folder / "other.py").write_text(f"{MARK}def f(residual):\n    return residual**2\n")
    (folder / "study.toml").write_text(f'{STUDY}[estimate]\ncriterion = "other.py:f"\n')


EDITS = [edited_file, edited_helper, swapped_link, named_another, added_criterion]
Edit = Callable[[Path], None]


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_between_the_question_and_the_reading_is_seen(
    known: Path, edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command has looked, and everything was known; then a file changes."""
    look = trusted._look_at

    def then_edit(study: Path) -> None:
        look(study)
        edit(known)

    monkeypatch.setattr(trusted, "_look_at", then_edit)
    result = estimica("fit", known / "study.toml", "--no-store", "--quiet")
    assert "Q050" in result.stderr
    assert not ran(known)


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_after_the_reading_does_not_run(
    known: Path, edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once it was read and agreed to, the very texts run, and nothing is read again."""
    from estimica.study.file import read as study_file

    admit = study_file.admit_study

    def then_edit(*given: Any) -> None:
        admit(*given)
        edit(known)

    monkeypatch.setattr(study_file, "admit_study", then_edit)
    result = estimica("fit", known / "study.toml", "--no-store", "--quiet", "--json")
    assert json.loads(result.stdout)["parameters"]["a"]["value"] == pytest.approx(27.9 / 14)
    assert not ran(known)


def test_code_named_on_the_command_line_is_ones_own_choice(known: Path) -> None:
    (known / "other.py").write_text(f"{MARK}def f(residual):\n    return residual**2\n")
    options = ("--criterion", "other.py:f", "--no-store", "--quiet")
    assert estimica("fit", known / "study.toml", *options).exit_code == 0
    assert ran(known)
    assert "Q050" in estimica("fit", write_study(known, "other.py:f"), "--no-store").stderr


def test_code_of_the_command_line_goes_along_to_other_processes(known: Path) -> None:
    import estimica as es

    (known / "other.py").write_text("def f(residual):\n    return residual**2\n")
    study = es.read_study(known / "study.toml")
    asked = study.with_(estimation=es.Estimation(criterion="other.py:f"))
    (known / "other.py").write_text(MARK)
    assert pickle.loads(pickle.dumps(asked)).code_for("other.py:f").files[0].text.startswith("def")


def write_study(folder: Path, criterion: str) -> Path:
    path = folder / "second.toml"
    path.write_text(f'{STUDY}[estimate]\ncriterion = "{criterion}"\n')
    return path


# --- the workbench decides in the process that reads ----------------------------------------------


def moved_out(folder: Path) -> None:
    shutil.copy(folder / "points.csv", folder.parent / "secret.csv")
    (folder / "study.toml").write_text(STUDY.replace("points.csv", "../secret.csv"))


def code_moved_out(folder: Path) -> None:
    """Known content, but outside."""
    (folder / "helper.py").rename(folder.parent / "helper.py")
    (folder / "helper.py").symlink_to("../helper.py")


@pytest.mark.parametrize("edit", [*EDITS, moved_out, code_moved_out])
def test_a_queued_study_is_checked_when_it_is_run(
    known: Path, edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server looks before it queues; the run itself decides, in its own process."""
    from estimica.apps.web.jobs import queue as jobs

    begun: list[tuple[Any, ...]] = []

    def begin(*given: Any) -> None:
        begun.append(given)
        raise OSError("not here")

    monkeypatch.setattr(jobs, "JobProcess", begin)
    queue = jobs.JobQueue(Served(known))
    queue.submit("fit", "study.toml", ["--max-iterations", "3"])
    queue.close()
    ((line, _, _, root),) = begun
    edit(known)
    monkeypatch.setenv("ESTIMICA_SERVED", str(root))
    told = json.loads(estimica(*line).stdout)
    assert told["outcome"]["code"] in ("G020", "G021")
    assert told["outcome"]["code"] == "G020" or "moved_out" not in edit.__name__
    assert not ran(known)


class Served:
    """The folder of a server."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def at(self, name: str) -> Path:
        """A file in it."""
        return self.root / name


def test_a_run_gets_the_served_folder_in_its_environment(known: Path) -> None:
    from estimica.apps.web.jobs.process import JobProcess

    named_another(known)
    output = known / "printed"
    line = ["check", str(known / "study.toml"), "--json"]
    assert JobProcess(line, known, output, known).wait() == 2
    assert json.loads(output.read_text())["outcome"]["code"] == "G021"
    assert not ran(known)


@pytest.mark.parametrize("edit", [*EDITS, moved_out, code_moved_out])
@pytest.mark.parametrize("task", ["model", "check", "by_hand"])
def test_a_bench_decides_about_the_texts_that_it_reads(known: Path, edit: Edit, task: str) -> None:
    from estimica.apps.web.worker.main import answer

    question = {"task": task, "args": {}}
    assert "found" in answer(known / "study.toml", question, known)
    edit(known)
    assert answer(known / "study.toml", question, known)["code"] in ("G020", "G021")
    assert not ran(known)


@pytest.mark.parametrize(
    ("task", "args"),
    [
        ("propose", {"source": "other.py:line", "class_": None, "data": ["points.csv"]}),
        ("propose", {"source": "own.py:line", "class_": None, "data": ["../secret.csv"]}),
        ("preview", {"data": "../secret.csv"}),
        ("match", {"data": "/etc/hostname"}),
    ],
)
def test_what_a_bench_is_asked_about_is_looked_at_there_too(
    known: Path, task: str, args: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from estimica.apps.web.worker.main import answer

    monkeypatch.chdir(known)
    (known / "other.py").write_text(LINE)
    shutil.copy(known / "points.csv", known.parent / "secret.csv")
    told = answer(known / "study.toml", {"task": task, "args": args}, known)
    assert told["code"] in ("G020", "G021")
    assert not ran(known)


# --- estimica trust ------------------------------------------------------------------------------


def test_the_trust_command_lists_agrees_and_forgets(folder: Path) -> None:
    study = folder / "study.toml"
    sha = hashlib.sha256(LINE.encode()).hexdigest()
    asked = estimica("trust", study)
    assert asked.exit_code == 2
    assert sha in asked.stdout
    assert "Q050" in asked.stderr
    told = json.loads(estimica("trust", study, "--trust", "--json").stdout)
    assert [c["sha256"] for c in told["code"]] == [sha]
    assert untrusted_code(study) == ()
    assert "trusted: it runs without a question until it changes" in estimica("trust", study).stderr
    assert estimica("trust", study, "--forget").exit_code == 0
    assert len(untrusted_code(study)) == 1
    assert not ran(folder)


def test_the_trust_command_tells_where_there_is_nothing_to_trust(folder: Path) -> None:
    (folder / "plain.toml").write_text('[static]\nexpression = "a*x"\n')
    assert "the study names no code" in estimica("trust", folder / "plain.toml").stderr
    assert "Q003" in estimica("trust", folder / "none.toml").stderr
