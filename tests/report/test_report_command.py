"""`estimica report` joins stored runs to one document."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.report.test_pages import STUDY, folder  # noqa: F401
from typer.testing import CliRunner

from estimica.apps.cli.commands.app import app
from estimica.base.view import Page, Section, Table
from estimica.execute.runs.store import Store
from estimica.report.write import join_pages


def told(*arguments: object) -> str:
    done = CliRunner().invoke(app, ["report", *map(str, arguments)])
    return f"{done.exit_code}\n{done.output}"


@pytest.fixture(scope="module")
def lag(folder: Path) -> Path:  # noqa: F811
    path = folder / "lag.toml"
    for command in ("identifiability", "fit", "fit"):
        done = CliRunner().invoke(app, [command, str(path), "--quiet", "--json"])
        assert done.exit_code == 0, done.output
    return path


def test_runs_keep_their_pages(lag: Path) -> None:
    store = Store.beside(lag)
    pages = [store.page(run.id) for run in store.runs()]
    assert all(page is not None for page in pages)
    assert {page["title"] for page in pages if page} == {"Fit: lag", "Identifiability: lag"}


def test_study_becomes_one_document_with_the_newest_run_of_each_command(lag: Path) -> None:
    out = lag.with_name("all.html")
    newest = {r.command: r.id for r in reversed(Store.beside(lag).runs())}
    done = CliRunner().invoke(app, ["report", str(lag), "--out", str(out), "--json"])
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert found["runs"] == [newest["fit"], newest["identifiability"]]
    text = out.read_text(encoding="utf-8")
    assert text.index('<h2 class="chapter" id="s1">Fit: lag – fit 2</h2>') < text.index(
        ">Identifiability: lag – identifiability 1</h2>"
    )
    assert text.count("# Gain and time constant.") == 1


def test_one_run_becomes_markdown_with_figures(lag: Path, tmp_path: Path) -> None:
    store = Store.beside(lag)
    run = store.runs(command="fit")[0].id
    done = told(run, "--store", store.path, "--out", tmp_path / "fit.md")
    assert done.startswith("0")
    text = (tmp_path / "fit.md").read_text(encoding="utf-8")
    assert text.startswith("# Fit: lag")
    assert (tmp_path / "fit_figures" / "01_measured_and_simulated.svg").is_file()
    assert "| tau " in text


def test_figures_alone_are_written_to_a_folder(lag: Path, tmp_path: Path) -> None:
    assert told(lag, "--figures", tmp_path / "f", "--format", "png").startswith("0")
    assert len(list((tmp_path / "f").glob("*.png"))) >= 5


def test_mistakes_are_told(lag: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text(STUDY)
    assert "P025: " in told(other)
    assert f"estimica fit {other}" in told(other).replace("\n", "")
    assert "P027: there is no study file" in told(tmp_path / "lga.toml")
    assert "P022: cannot write 'a.pdf'" in told(lag, "--out", "a.pdf")
    assert "P023: there is no format 'gif'" in told(lag, "--figures", tmp_path, "--format", "gif")
    assert "B010: there is no run 'zzz'" in told("zzz", "--store", Store.beside(lag).path)


def test_a_run_without_a_page_is_told(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.sqlite")
    with store.begin("fit", name="lag", study={}, settings={}) as writer:
        pass
    assert f"P026: run '{writer.id}' was stored without its page" in told(
        writer.id, "--store", store.path
    )


def test_trouble_with_a_page_does_not_fail_the_run(
    lag: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> Page:
        raise ValueError("no page today")

    monkeypatch.setattr("estimica.estimate.fit.present.page", broken)
    done = CliRunner().invoke(app, ["fit", str(lag), "--quiet"])
    assert done.exit_code == 0
    assert "warning: the run is stored without its page: no page today" in done.stderr
    store = Store.beside(lag)
    run = store.runs(1)[0]
    assert run.status == "done"
    assert store.page(run.id) is None
    store.delete([run.id])


def test_what_chapters_share_is_shown_once() -> None:
    table, own = Table(("a",), ((1,),)), Table(("b",), ((2,),))
    pages = [
        Page("One", (Section("h", "x", (table,)),)),
        Page("Two", (Section("h", "x", (table, own)),)),
    ]
    whole = join_pages("Both", pages)
    assert [s.chapter for s in whole.sections] == [True, False, True, False]
    assert whole.sections[3].shown == (own,)
    assert "not repeated" in whole.sections[3].text
    assert join_pages("Both", pages[:1]) is pages[0]
