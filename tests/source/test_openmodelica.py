"""OpenModelica as the front end, with a stand-in for `omc` that replays stored outputs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import estimica as es
from estimica.base.code.consent import NamedCode, code_guard
from estimica.base.errors import SourceError
from estimica.source.load import load_flat
from estimica.source.openmodelica import call as openmodelica
from estimica.study.file.trust import code_of

FOLDER = Path(__file__).with_name("base_modelica")
DECAY = (FOLDER / "decay.mo").read_text()
ANSWER = (FOLDER / "decay.bmo").read_text()
TIMES = np.linspace(0.0, 1.0, 5)

_STAND_IN = """#!{python}
import json, pathlib, sys, time
here = pathlib.Path({here!r})
answer = json.loads((here / "answer.json").read_text())
files = [a for a in sys.argv[1:] if not a.startswith("-")]
texts = {{pathlib.Path(f).name: pathlib.Path(f).read_text() for f in files if f.endswith(".mo")}}
given = pathlib.Path(files[0]).parent if files and files[0].endswith(".mo") else None
beside = sorted(p.relative_to(given).as_posix() for p in given.rglob("*")) if given else []
call = {{"arguments": sys.argv[1:], "texts": texts, "beside": beside}}
with (here / "calls.jsonl").open("a") as calls:
    calls.write(json.dumps(call) + "\\n")
time.sleep(answer["seconds"])
sys.stdout.write(answer["stdout"])
sys.stderr.write(answer["stderr"].replace("FILE", files[0] if files else ""))
sys.exit(answer["code"])
"""


@dataclass(frozen=True)
class StandIn:
    """A folder with an executable `omc` that does as it is told."""

    folder: Path

    def answers(
        self, stdout: str = ANSWER, stderr: str = "", code: int = 0, seconds: float = 0.0
    ) -> None:
        content = {"stdout": stdout, "stderr": stderr, "code": code, "seconds": seconds}
        (self.folder / "answer.json").write_text(json.dumps(content))

    def calls(self) -> list[dict[str, object]]:
        path = self.folder / "calls.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def handed(call: dict[str, object]) -> list[str]:
    """The arguments, with copies named as in their folder."""
    arguments = call["arguments"]
    assert isinstance(arguments, list)
    given = [a.partition("estimica-omc-")[2].partition("/")[2].partition("/")[2] for a in arguments]
    return [g or a for g, a in zip(given, arguments, strict=True)]


@pytest.fixture
def omc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "omc"
    program.write_text(_STAND_IN.format(python=sys.executable, here=str(folder)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    monkeypatch.setenv("ESTIMICA_CACHE", str(tmp_path / "cache"))
    found = StandIn(folder)
    found.answers()
    return found


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "decay.mo"
    path.write_text(DECAY)
    return path


def test_the_compiler_is_asked_for_base_modelica_of_the_class(omc: StandIn, source: Path) -> None:
    model = es.load_model(source, frontend="openmodelica")
    (call,) = omc.calls()
    assert handed(call) == ["--baseModelica", "-i=Decay", "decay.mo"]
    assert call["texts"] == {"decay.mo": DECAY}
    np.testing.assert_allclose(model.simulate(TIMES)["x"], 1.5 * np.exp(-2.0 * TIMES), rtol=1e-5)
    assert model.name == "Decay"
    assert model.flat.source == str(source)


def test_an_unchanged_source_is_not_flattened_again(omc: StandIn, source: Path) -> None:
    for _ in range(2):
        load_flat(source, frontend="openmodelica")
    assert len(omc.calls()) == 1
    source.write_text(DECAY.replace("2.0", "3.0"))
    load_flat(source, frontend="openmodelica")
    assert len(omc.calls()) == 2
    load_flat(source, frontend="openmodelica", cache=False)
    assert len(omc.calls()) == 3


def test_a_text_is_handed_over_in_a_file(omc: StandIn) -> None:
    load_flat(DECAY, frontend="openmodelica")
    (call,) = omc.calls()
    assert call["texts"] == {"text.mo": DECAY}


def test_values_become_modifiers_of_a_class_around(omc: StandIn, source: Path) -> None:
    load_flat(source, frontend="openmodelica", fix={"k": 4.0})
    plain, changed = omc.calls()
    assert handed(plain) == ["--baseModelica", "-i=Decay", "decay.mo"]
    arguments = changed["arguments"]
    assert isinstance(arguments, list)
    assert arguments[1] == "-i=EstimicaModified"
    texts = changed["texts"]
    assert isinstance(texts, dict)
    assert "extends Decay(k = 4.0);" in texts["EstimicaModified.mo"]
    assert load_flat(source, frontend="openmodelica", fix={"k": 4.0}).name == "Decay"
    with pytest.raises(SourceError, match="S021: fix, class Decay: no parameter 'kk'"):
        load_flat(source, frontend="openmodelica", fix={"kk": 4.0})


def test_libraries_beside_are_handed_over_by_their_files(omc: StandIn, tmp_path: Path) -> None:
    library = tmp_path / "libraries" / "Springs"
    library.mkdir(parents=True)
    (library / "package.mo").write_text(
        "within ;\npackage Springs\n  constant Real c = 2.0;\nend Springs;\n"
    )
    source = tmp_path / "user.mo"
    source.write_text(DECAY.replace("k = 2.0", "k = Springs.c"))
    load_flat(source, frontend="openmodelica", libraries=[tmp_path / "libraries"])
    (call,) = omc.calls()
    assert handed(call)[2:] == ["user.mo", "Springs/package.mo"]


def test_a_package_is_handed_over_as_a_whole(omc: StandIn, tmp_path: Path) -> None:
    package = tmp_path / "Plant"
    package.mkdir()
    (package / "package.mo").write_text("within ;\npackage Plant\nend Plant;\n")
    (package / "Decay.mo").write_text("within Plant;\n" + DECAY)
    system = load_flat(package / "Decay.mo", frontend="openmodelica")
    (call,) = omc.calls()
    assert handed(call) == ["--baseModelica", "-i=Plant.Decay", "Plant/package.mo"]
    assert call["beside"] == ["Decay.mo", "package.mo"]
    assert system.name == "Plant.Decay"


class Refusing:
    """A guard that notes what is about to run, and refuses it unless it is told otherwise."""

    def __init__(self, *agreed: str) -> None:
        self.agreed, self.asked = set(agreed), set[str]()

    def admit(self, study: Path, tables: object, codes: Sequence[NamedCode]) -> None: ...

    def require_agreed(self, codes: Sequence[NamedCode]) -> None:
        self.asked |= {code.sha256 for code in codes}
        if not self.asked <= self.agreed:
            raise SourceError("S999", "not agreed")


def package_that_calls(folder: Path) -> Path:
    """A package whose class calls nothing, but a class beside it does."""
    (folder / "Plant" / "Resources" / "Library").mkdir(parents=True)
    (folder / "Plant" / "package.mo").write_text("within ;\npackage Plant\nend Plant;\n")
    (folder / "Plant" / "Decay.mo").write_text("within Plant;\n" + DECAY)
    call = 'within Plant;\nfunction Call\n  external "C" f();\nend Call;\n'
    (folder / "Plant" / "Call.mo").write_text(call)
    (folder / "Plant" / "Resources" / "Library" / "libf.a").write_bytes(b"native")
    return folder / "Plant"


def test_what_lies_beside_a_class_in_its_package_is_asked_about(
    omc: StandIn, tmp_path: Path
) -> None:
    package = package_that_calls(tmp_path)
    tables = {"model": {"source": "Plant/Decay.mo", "frontend": "openmodelica"}}
    (code,) = code_of(tables, tmp_path)
    assert (code.name, code.kind) == ("Plant/Decay.mo", "Modelica with native code")
    with code_guard(Refusing()), pytest.raises(SourceError, match="S999"):
        load_flat(package / "Decay.mo", frontend="openmodelica")
    assert omc.calls() == []
    with code_guard(Refusing(code.sha256)):
        load_flat(package / "Decay.mo", frontend="openmodelica")
    assert len(omc.calls()) == 1
    for name in ("Call.mo", "Resources/Library/libf.a"):
        (package / name).write_text((package / name).read_text() + " ")
        assert code_of(tables, tmp_path)[0].sha256 != code.sha256


def test_the_compiler_reads_what_was_agreed_to(
    omc: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that change after they were hashed, or are added, are not what it gets."""
    package = package_that_calls(tmp_path)
    (tmp_path / "Beside.mo").write_text("model Beside end Beside;")

    def swap(codes: object) -> None:
        (package / "package.mo").write_text("within ;\npackage Plant\n// other\nend Plant;\n")
        (package / "Added.mo").write_text("within Plant;\nmodel Added end Added;\n")

    monkeypatch.setattr(openmodelica, "require_agreed", swap)
    load_flat(package / "Decay.mo", frontend="openmodelica")
    (call,) = omc.calls()
    assert call["texts"] == {"package.mo": "within ;\npackage Plant\nend Plant;\n"}
    assert call["beside"] == [
        "Call.mo",
        "Decay.mo",
        "Resources",
        "Resources/Library",
        "Resources/Library/libf.a",
        "package.mo",
    ]


def test_a_class_of_a_library_of_the_study_is_handed_over_as_its_copy(
    omc: StandIn, tmp_path: Path
) -> None:
    package_that_calls(tmp_path / "libraries")
    load_flat("Plant.Decay", frontend="openmodelica", libraries=[tmp_path / "libraries"])
    (call,) = omc.calls()
    assert handed(call) == ["--baseModelica", "-i=Plant.Decay", "Plant/package.mo"]


def test_paths_in_the_compilers_text_are_those_of_the_files(source: Path) -> None:
    copies = {source.parent / "Plant": Path("/tmp/copy/0/Plant")}
    text = openmodelica._in_place('table = "/tmp/copy/0/Plant/Resources/t.txt"', copies)
    assert text == f'table = "{source.parent.resolve()}/Plant/Resources/t.txt"'


def test_what_openmodelica_refuses_is_told_with_its_place(omc: StandIn, source: Path) -> None:
    told = (
        "[FILE:4:3-4:20:writable] Error: Variable y not found in scope Decay.\n"
        "Error: Error occurred while flattening model Decay\n"
    )
    omc.answers("", told, code=1)
    with pytest.raises(SourceError) as caught:
        load_flat(source, frontend="openmodelica")
    assert str(caught.value) == (
        "S223: class 'Decay' (decay.mo): OpenModelica could not flatten it: decay.mo:4: Variable y "
        "not found in scope Decay.; Error occurred while flattening model Decay"
    )


def test_an_answer_without_a_model_is_told(omc: StandIn, source: Path) -> None:
    omc.answers("Segmentation fault\n", "", code=139)
    with pytest.raises(SourceError, match=r"S223: .*could not flatten it: Segmentation fault"):
        load_flat(source, frontend="openmodelica")
    omc.answers("", "", code=0)
    with pytest.raises(SourceError, match=r"S223: .*could not flatten it: it wrote nothing"):
        load_flat(source, frontend="openmodelica")


def test_messages_before_the_text_do_not_harm(omc: StandIn, source: Path) -> None:
    omc.answers("Warning: something\n" + ANSWER, "Notification: loaded\n")
    assert "k" in load_flat(source, frontend="openmodelica").by_name


def test_a_compiler_that_hangs_is_stopped(omc: StandIn, source: Path) -> None:
    omc.answers(seconds=30.0)
    with pytest.raises(SourceError, match=r"S221: class 'Decay': omc did not finish within 0\.5 s"):
        load_flat(source, frontend="openmodelica", time_limit=0.5)


def test_a_compiler_that_cannot_run_is_told(omc: StandIn, source: Path) -> None:
    (omc.folder / "omc").write_text("#!/no/such/interpreter\n")
    with pytest.raises(SourceError, match=r"S222: .*omc cannot be run .*install OpenModelica anew"):
        load_flat(source, frontend="openmodelica")


def test_a_missing_compiler_is_told_with_the_next_step(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SourceError) as caught:
        load_flat(source, frontend="openmodelica")
    assert str(caught.value) == (
        'S220: frontend "openmodelica" calls OpenModelica\'s compiler, but there is no omc on the '
        "PATH; install OpenModelica (openmodelica.org), or write the text on a computer that has "
        "it, by omc --baseModelica -i=Class File.mo > Class.bmo, and load Class.bmo"
    )


def test_another_front_end_does_not_exist(source: Path) -> None:
    with pytest.raises(SourceError, match="S224: no front end 'openmodellica'; did you mean 'open"):
        load_flat(source, frontend="openmodellica")


def test_a_study_file_names_the_front_end(omc: StandIn, source: Path, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("t,x\n0,1.5\n0.5,0.551819\n1,0.203003\n")
    (tmp_path / "study.toml").write_text(
        '[model]\nsource = "decay.mo"\nfrontend = "openmodelica"\n[tune]\nk = 1.0\n'
        '[[case]]\nname = "a"\ndata = "data.csv"\ntime = "t"\noutputs = { x = "x" }\n'
    )
    study = es.read_study(tmp_path / "study.toml")
    assert study.model.name == "Decay"
    assert len(omc.calls()) == 1
