"""Study.write of studies that use runs, FMUs, libraries and Optimica files: each reads back equal."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest
from tests.fmus.build import builder, built
from tests.study.test_optimica import LISTED
from tests.study.test_written import TANK, record, require_equal

import estimica as es
from estimica.execute.runs.store import Store

STUDY = """[model]
source = "Tank.mo"

[tune]
k = { start = 0.3, min = 0.01, max = 10 }

[[case]]
name = "run"
data = "run.csv"
inputs = { q = "q" }
outputs = { h = "h" }
"""


def folder(path: Path, text: str = STUDY) -> Path:
    path.mkdir()
    (path / "Tank.mo").write_text(TANK)
    record().to_csv(path / "run.csv", index=False)
    (path / "tank.toml").write_text(text)
    return path / "tank.toml"


def elsewhere(study: es.Study, path: Path) -> es.Study:
    """The study, written into another folder and read from there."""
    path.mkdir()
    study.write(path / "copy.toml")
    return es.read_study(path / "copy.toml")


def test_values_of_a_run_of_another_study_are_written_as_they_are(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from estimica.apps.cli.commands.app import app

    motor = folder(tmp_path / "bench")
    assert CliRunner().invoke(app, ["fit", str(motor)]).exit_code == 0
    runs = Store.beside(motor)
    assert len(list(runs.runs())) == 1
    other = STUDY.replace("[tune]\n", '[from_fit]\nstudy = "../bench/tank.toml"\n\n[tune]\n')
    taken = es.read_study(folder(tmp_path / "plant", other))
    found = taken.tuners[0].start
    assert found is not None
    assert found != 0.3
    back = elsewhere(taken, tmp_path / "copy")
    assert [t.start for t in back.tuners] == [found]
    # the values stand there: the runs of the other study are not needed any more
    assert "from_fit" not in tomllib.loads((tmp_path / "copy" / "copy.toml").read_text())
    assert es.fit(back)["k"] == pytest.approx(es.fit(taken)["k"], rel=1e-12)


def test_a_mapping_without_a_run_is_kept(tmp_path: Path) -> None:
    text = STUDY.replace("[tune]\n", '[from_fit]\nk = "rate"\n\n[tune]\n')
    study = es.read_study(folder(tmp_path / "here", text))
    back = elsewhere(study, tmp_path / "copy")
    assert back.tables["from_fit"] == {"k": "rate"}
    require_equal(study, back)


@pytest.mark.skipif(not builder.compiler(), reason="no C compiler")
@pytest.mark.parametrize("kind", ["me", "cs"])
def test_a_study_of_an_fmu(tmp_path: Path, kind: str) -> None:
    pytest.importorskip("fmpy")
    model = es.load_model(built("vanDerPol", fmi=2, kinds=(kind,)), fix={"w": 1.25})
    time = np.linspace(0, 5, 51)
    run = model.simulate(time, parameters={"mu": 2.0}, outputs=["x_out"])
    case = es.Case("free", {"time": time, "x": run.value("x_out")}, outputs={"x_out": "x"})
    study = es.Study(model, [es.Tuner("mu", start=1.7)], [case])
    back = elsewhere(study, tmp_path / "copy")
    require_equal(study, back)
    assert es.fit(back)["mu"] == pytest.approx(es.fit(study)["mu"], rel=1e-9)


def test_a_study_whose_classes_lie_in_libraries(tmp_path: Path) -> None:
    parts = tmp_path / "parts" / "Parts"
    parts.mkdir(parents=True)
    (parts / "package.mo").write_text("package Parts\nend Parts;\n")
    (parts / "Tank.mo").write_text("within Parts;\n" + TANK)
    study_file = folder(
        tmp_path / "here",
        STUDY.replace('"Tank.mo"\n', '"Plant.mo"\nlibraries = ["../parts"]\n')
        .replace("\nk =", '\n"tank.k" =')
        .replace('h = "h"', '"tank.h" = "h"'),
    )
    (study_file.parent / "Plant.mo").write_text(
        "model Plant\n  input Real q;\n  Parts.Tank tank;\nequation\n  tank.q = q;\nend Plant;\n"
    )
    study = es.read_study(study_file)
    back = elsewhere(study, tmp_path / "copy")
    require_equal(study, back)
    assert es.fit(back)["tank.k"] == pytest.approx(es.fit(study)["tank.k"], rel=1e-12)


def test_a_class_of_a_library_is_named_as_it_was(tmp_path: Path) -> None:
    parts = tmp_path / "parts" / "Parts"
    parts.mkdir(parents=True)
    (parts / "package.mo").write_text("package Parts\nend Parts;\n")
    (parts / "Tank.mo").write_text("within Parts;\n" + TANK)
    text = STUDY.replace('"Tank.mo"\n', '"Parts.Tank"\nlibraries = ["../parts"]\n')
    study = es.read_study(folder(tmp_path / "here", text))
    back = elsewhere(study, tmp_path / "copy")
    require_equal(study, back)
    tables = tomllib.loads((tmp_path / "copy" / "copy.toml").read_text())
    assert tables["model"]["source"] == "Parts.Tank"


def test_a_study_of_an_optimica_file(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (here / "Tank.mop").write_text(LISTED)
    time = np.arange(0, 10, 0.25)
    x = 2 - 1.9 * np.exp(-time / 3)  # from x0 = 0.1, its guess in the file
    rows = "".join(f"{t:g},1,{a!r},{a * a + a!r}\n" for t, a in zip(time, x.tolist(), strict=True))
    (here / "run.csv").write_text("time,u,x,h\n" + rows)
    (here / "tank.toml").write_text(
        '[model]\nsource = "Tank.mop"\n[tune]\nT = { start = 4, min = 0.5, max = 20 }\n'
        '[[case]]\nname = "run"\ndata = "run.csv"\ninputs = { u = "u" }\n'
        'outputs = { "tank.x" = "x" }\n'
    )
    study = es.read_study(here / "tank.toml")
    back = elsewhere(study, tmp_path / "copy")
    require_equal(study, back)
    assert es.fit(back)["T"] == pytest.approx(3.0, rel=1e-3)
