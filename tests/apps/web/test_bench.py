"""The bench: a study's own process answers, is overtaken, crashes and is there again."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from estimica.apps.cli.commands.app import app
from estimica.apps.web.worker import client as module
from estimica.apps.web.worker.client import ModelWorker, ModelWorkers
from estimica.apps.web.worker.equations import equations
from estimica.apps.web.worker.tasks import export, indicators, propose
from estimica.base.errors import EstimicaError, WebError

TANK = """
model Tank "A tank that drains"
  parameter Real a(unit = "1/s", min = 0, max = 10) = 0.5 "Outflow rate";
  parameter Integer n = 2 "Size";
  Real z[n];
  input Real u;
  output Real x(unit = "m", start = 1, fixed = true) "Level";
equation
  z = fill(x, n);
  der(x) = -a*x + u;
end Tank;
"""

STUDY = """
# kept
[model]
source = "Tank.mo"

[tune]
a = { start = 0.4, min = 0, max = 5 }

[[case]]
name = "run 1"
data = "run1.csv"
inputs = { u = "u" }
outputs = { x = "x" }
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    time = np.linspace(0, 4, 41)
    rows = [f"{t},{0},{np.exp(-0.7 * t)}" for t in time]
    (tmp_path / "run1.csv").write_text("\n".join(["time [s],u,x [m]", *rows]), encoding="utf-8")
    (tmp_path / "Tank.mo").write_text(TANK, encoding="utf-8")
    (tmp_path / "tank.toml").write_text(STUDY, encoding="utf-8")
    return tmp_path / "tank.toml"


async def refused(bench: ModelWorker, task: str, **args: Any) -> str:
    with pytest.raises(EstimicaError) as error:
        await bench.ask(task, **args)
    return str(error.value)


def test_one_process_answers_everything_about_a_study(study: Path) -> None:
    folder = study.parent
    done = CliRunner().invoke(app, ["fit", str(study), "--json"])
    run = json.loads(done.stdout)["run"]

    async def ask() -> None:
        bench = ModelWorker(study, folder)
        try:
            await questions(bench)
            process = bench._process
            assert process is not None
            await after(bench)
            assert bench._process is process, "one process for all of it"
        finally:
            await bench.close()
        assert not bench.alive

    async def questions(bench: ModelWorker) -> None:
        found = await bench.ask("model")
        known = {q["name"]: q for q in found["quantities"]}
        a, n, x = known["a"], known["n"], known["x"]
        assert (found["name"], found["description"]) == ("Tank", "A tank that drains")
        assert (a["unit"], a["description"], a["min"], a["max"]) == ("1/s", "Outflow rate", 0, 10)
        assert (a["tunable"], a["structural"], a["why_not"]) == (True, False, "")
        assert (n["tunable"], n["structural"]) == (False, True)
        assert n["why_not"]
        assert (x["role"], x["max"], known["u"]["can_drive"]) == ("state", None, True)
        assert await bench.ask("check") == {"problems": []}
        seen = await bench.ask("preview", data="run1.csv")
        assert [c["name"] for c in seen["columns"]] == ["time", "u", "x"]
        assert [c["unit"] for c in seen["columns"]] == ["s", "", "m"]
        assert (seen["rows"], seen["columns"][2]["max"]) == (41, 1.0)
        assert [trace["name"] for trace in seen["figure"]["data"]] == ["u", "x"]
        assert seen["files"] == ["run1.csv"]
        assert (await bench.ask("preview", data="run?.csv"))["files"] == ["run1.csv"]
        match = (await bench.ask("match", data="run1.csv"))["case"]
        assert match == {"time": "time", "inputs": {"u": "u"}, "outputs": {"x": "x"}}
        look = await bench.ask("by_hand", values={"a": 0.7})
        assert look["errn"]["run 1"]["x"] < 1e-3
        assert [u["label"] for u in look["unknowns"]] == ["a"]
        assert [t["name"] for t in look["figure"]["data"]] == ["measured", "simulated"]
        assert len(json.dumps(look["figure"])) < 60_000

    async def after(bench: ModelWorker) -> None:
        source = str(folder / "Tank.mo")
        text = await bench.ask(
            "propose", source=source, class_=None, data=[str(folder / "run1.csv")]
        )
        assert 'source = "Tank.mo"' in text["text"]
        assert 'data = "run1.csv"' in text["text"]
        out = folder / "out"
        out.mkdir()
        for what, name in (("curves", "tank.csv"), ("fitted", "TankFitted.mo")):
            wrote = await bench.ask("export", run=run, what=what, out=str(out))
            assert wrote["files"] == [name]
        assert "0.7" in (out / "TankFitted.mo").read_text(encoding="utf-8")
        study.write_text(STUDY.replace("0.4", "0.45"), encoding="utf-8")
        assert (await bench.ask("by_hand"))["values"] == {"a": 0.45}
        # other starts are no other model: that is what "Use these values" writes
        wrote = await bench.ask("export", run=run, what="curves", out=str(out))
        assert wrote["files"] == ["tank.csv"]
        study.write_text(f"{STUDY}\n[solver]\nrtol = 1e-5\n", encoding="utf-8")
        told = await refused(bench, "export", run=run, what="curves", out=str(out))
        assert told.startswith("G066: the study has changed since run")
        study.write_text(STUDY.replace('"Tank.mo"', '"Tnak.mo"'), encoding="utf-8")
        assert "Tnak.mo" in await refused(bench, "model")
        problems = (await bench.ask("check"))["problems"]
        assert [p["where"] for p in problems] == ["[model]"]
        assert "there is no 'b' to be set" in await refused_by_hand(bench)
        told = await refused(bench, "preview", data="none.csv")
        assert told.startswith("D001: there is no file")

    async def refused_by_hand(bench: ModelWorker) -> str:
        study.write_text(STUDY, encoding="utf-8")
        return await refused(bench, "by_hand", values={"b": 1.0})

    asyncio.run(ask())


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_a_bench_is_overtaken_crashes_is_stopped_and_comes_back(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ask() -> None:
        bench = ModelWorker(study)
        values = [0.3, 0.4, 0.5, 0.6, 0.7]
        many = [bench.ask("by_hand", values={"a": v}) for v in values]
        other = bench.ask("by_hand", key="another page", values={"a": 0.1})
        found = await asyncio.gather(*many, other, return_exceptions=True)
        codes = [f.code if isinstance(f, EstimicaError) else "" for f in found]
        assert codes[1:] == ["G063", "G063", "G063", "", ""] or codes[0] == "G063"
        assert isinstance(found[4], dict)
        assert found[4]["values"] == {"a": 0.7}
        # its process ends in the middle
        slow = asyncio.ensure_future(bench.ask("check"))
        await asyncio.sleep(0.01)
        assert bench._process is not None
        os.kill(bench._process.pid, signal.SIGKILL)
        with pytest.raises(WebError, match="G062: 'check' was not answered: its process was ended"):
            await slow
        # it takes too long: importing alone does
        monkeypatch.setattr(module, "SHORT", 0.05)
        with pytest.raises(WebError, match=r"G061: 'by_hand' took more than 0.05 s and was stop"):
            await bench.ask("by_hand")
        assert not bench.alive
        monkeypatch.setattr(module, "SHORT", 60)
        # a page that is closed does not take the answer of the next one
        gone = asyncio.ensure_future(bench.ask("preview", data="run1.csv"))
        await asyncio.sleep(0.05)
        gone.cancel()
        assert (await bench.ask("by_hand", values={"a": 0.7}))["errn"]["run 1"]["x"] < 1e-3
        await bench.close()

    asyncio.run(ask())


def test_what_lies_outside_or_is_no_task_is_refused_before_any_process(study: Path) -> None:
    async def ask() -> None:
        bench = ModelWorker(study, study.parent)
        told = await refused(bench, "preview", data="../secret.csv")
        assert told.startswith("G020: ")
        assert "'../secret.csv' is outside the served folder" in told
        told = await refused(bench, "propose", source="/etc/passwd", class_=None, data=[])
        assert told.startswith("G020: ")
        told = await refused(bench, "propose", source="own.py:f", class_=None, data=["/x.csv"])
        assert told.startswith("G020: ")
        assert (await refused(bench, "modle")).startswith(
            "G067: a bench has no task 'modle'; did you mean 'model'?"
        )
        study.write_text(STUDY.replace("Tank.mo", "../Tank.mo"), encoding="utf-8")
        assert (await refused(bench, "model")).startswith("G020: ")
        assert not bench.alive

    asyncio.run(ask())


def test_few_benches_are_alive_and_idle_ones_are_ended(study: Path) -> None:
    class Idle(ModelWorker):
        """Without a process."""

        open = True

        @property
        def alive(self) -> bool:
            return self.open

        async def close(self) -> None:
            self.open = False

    async def use() -> None:
        benches = ModelWorkers(alive=2, idle=100.0)
        four = [Idle(study.with_name(f"{k}.toml")) for k in range(4)]
        for k, one in enumerate(four):
            benches._benches[one.study] = one
            one.asked += k
        four[0].waiting = 1
        await benches.tidy()
        assert [b.open for b in four] == [True, False, False, True]
        four[3].asked -= 200
        await benches.tidy()
        assert [b.open for b in four] == [True, False, False, False]
        assert benches.of(four[0].study) is four[0]
        await benches.stop()
        assert not four[0].open

    asyncio.run(use())


def test_only_a_stored_fit_can_be_exported(study: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["identifiability", str(study), "--json"])
    run = json.loads(done.stdout)["run"]
    with pytest.raises(WebError, match=r"G065: run '.*' has no fit to be written"):
        export(study, run, "curves", str(tmp_path))


DESIGN = """
[model]
source = "Tank.mo"
fix = { n = 1 }

[tune]
a = { start = 0.4, min = 0, max = 5 }

[[case]]
name = "empty it"
inputs = { u = 0 }
stop = 4

[[criterion]]
name = "left"
kind = "final"
of = "x"
demand = 0.1
"""


def test_a_design_is_drawn_as_it_goes_and_written_as_modelica(study: Path) -> None:
    study.write_text(DESIGN, encoding="utf-8")
    drawn = indicators(study, {"a": 1.0}, {"a": 0.4})["figure"]
    names = [trace["name"] for trace in drawn["data"]]
    assert names == ["x, start", "x, best so far"]  # what the criterion is of
    done = json.loads(CliRunner().invoke(app, ["optimise", str(study), "--json"]).stdout)
    out = study.parent / "out"
    out.mkdir()
    assert export(study, done["run"], "tuned", str(out)) == {"files": ["TankTuned.mo"]}
    text = (out / "TankTuned.mo").read_text(encoding="utf-8")
    assert "extends Tank(" in text
    assert "a = 5" in text  # the faster the better, up to its bound
    assert "largest criterion/demand" in text
    with pytest.raises(WebError, match="has no fit to be written"):
        export(study, done["run"], "curves", str(out))
    study.write_text(f"{DESIGN}\n[solver]\nrtol = 1e-5\n", encoding="utf-8")
    with pytest.raises(WebError, match="optimise it again to write its design"):
        export(study, done["run"], "tuned", str(out))


def test_equations_are_offered_also_where_the_study_is_not_complete(study: Path) -> None:
    found = equations(study)
    assert "der(x) = -a*x + u" in found["equations"]
    assert found["count"] == len(found["equations"])
    nothing = {"equations": [], "count": 0}
    for text in ("[model", "[tune]\na = 1\n", '[model]\nsource = "K/(1 + tau*s)"\n'):
        study.write_text(text, encoding="utf-8")
        assert equations(study) == nothing


def test_an_optimica_problem_becomes_a_study_and_a_model(tmp_path: Path) -> None:
    from tests.study.test_optimica import LISTED

    (tmp_path / "Tank.mop").write_text(LISTED)
    made = propose(tmp_path / "tank.toml", str(tmp_path / "Tank.mop"), None, [])
    study = tomllib.loads(made["text"])
    assert study["model"] == {"source": "tank.mo", "class": "ML"}
    assert study["tune"]["T"] == {"start": 4, "min": 0.5, "max": 20}
    assert study["estimate"]["criterion"] == "ml"
    assert made["file"] == "tank.mo"
    assert "objectiveIntegrand" not in made["modelica"]
