"""`estimica runs` as a user meets it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from estimica.apps.cli.commands.app import app
from estimica.execute.runs.record import Status
from estimica.execute.runs.store import Store


def estimica(*arguments: str, answer: str | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=answer)


def json_of(*arguments: str, exit_code: int = 0) -> dict[str, Any]:
    result = estimica(*arguments)
    assert result.exit_code == exit_code, result.output
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    assert found["command"] == "runs"
    return found


def result(shift: float, n_samples: int = 1000) -> dict[str, Any]:
    return {
        "command": "fit",
        "criterion": "ml",
        "cost": 1839.769 + shift,
        "n_samples": n_samples,
        "n_free": 3,
        "aic": 1845.769 + shift,
        "bic": 1860.492 + shift,
        "parameters": {
            "T_D": {"value": 285.9 + shift, "stderr": 1.4, "ci95": [283.2, 288.7], "unit": "s"},
            "A4": {"value": 0.5, "stderr": math.inf, "ci95": [None, None], "at_bound": True},
        },
        "start_values": {"step test": {"x1": {"value": 147.7, "stderr": 0.2}}},
    }


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.chdir(tmp_path)
    return Store.beside(tmp_path)


@pytest.fixture
def ids(store: Store) -> list[str]:
    found = []
    for k in range(2):
        with store.begin("fit", name=f"boiler {k}", study={"k": k}, settings={"seed": k}) as run:
            run.iteration(0, 5000.0, {"parameters": {"T_D": 250.0}})
            run.iteration(1, 1839.0, {"parameters": {"T_D": 285.9}})
            run.finish(Status.DONE, "converged", result(float(k)))
        found.append(run.id)
    return found


@pytest.mark.parametrize("verb", [(), ("list",)])
def test_empty_store_is_a_friendly_line(store: Store, verb: tuple[str, ...]) -> None:
    shown = estimica("runs", *verb)
    assert shown.exit_code == 0
    assert shown.stdout.startswith("No runs are stored in .estimica/runs.sqlite yet")
    assert json_of("runs", *verb, "--json")["runs"] == []
    assert not store.path.exists()


def test_runs_are_listed_the_newest_first(ids: list[str]) -> None:
    shown = estimica("runs").stdout
    assert shown.index(ids[1]) < shown.index(ids[0])
    assert "boiler 1" in shown
    assert "1839.77" in shown
    found = json_of("runs", "--json")
    assert [run["run"] for run in found["runs"]] == ids[::-1]
    assert found["runs"][0]["status"] == "done"
    assert found["runs"][0]["iterations"] == 2
    assert len(json_of("runs", "list", "--limit", "1", "--json")["runs"]) == 1
    assert len(json_of("runs", "--limit", "1", "list", "--json")["runs"]) == 1
    assert json_of("runs", "list", "--command", "release", "--json")["runs"] == []
    assert "No runs of 'release'" in estimica("runs", "--command", "release").stdout


def test_one_run_is_shown_with_its_estimates(ids: list[str]) -> None:
    shown = estimica("runs", "show", ids[0]).stdout
    for part in (
        f"fit of boiler 0, run {ids[0]}",
        "done: converged",
        "T_D",
        "285.9",
        "283.2",
        "inf",
        "std. error",
    ):
        assert part in shown, part
    assert "start of x1 in step test" in shown
    assert "2, cost 5000 → 1839" in shown
    found = json_of("runs", "show", "last", "--json")
    assert found["run"] == ids[1]
    assert found["study"] == {"k": 1}
    assert found["result"]["parameters"]["A4"]["stderr"] is None
    assert found["iterations"][1]["parameters"] == {"T_D": 285.9}
    assert found["environment"]["estimica"]


def test_runs_are_compared_side_by_side(ids: list[str], store: Store) -> None:
    shown = estimica("runs", "compare", *ids).stdout
    for part in (
        *ids,
        "285.9 ± 1.4",
        "286.9 ± 1.4",
        "0.5 ± inf",
        "1839.77",
        "1860.49",
        "samples",
        "AIC",
    ):
        assert part in shown, part
    assert "cannot be compared" not in shown
    # by hand: 286.9 − 285.9, √(1.4² + 1.4²) = 1.98, 1/285.9
    assert "+1 ± 1.98 (+0.35 %)" in shown
    assert "fit 2 − fit 1" in shown
    assert "fits to the same data mostly scatter together" in " ".join(shown.split())
    found = json_of("runs", "compare", *ids, "--json")
    assert [run["run"] for run in found["runs"]] == ids
    assert found["runs"][1]["parameters"]["T_D"]["value"] == 286.9
    assert found["runs"][1]["bic"] == pytest.approx(1861.492)
    with store.begin("fit", name="other", study={}, settings={}) as run:
        run.finish(Status.DONE, "", result(0.0, n_samples=500))
    less = json_of("runs", "compare", ids[0], run.id, "--json")["differences"][0]["values"]
    assert "cost" not in less  # of other data
    assert less["T_D"] == {"difference": 0.0, "stderr": pytest.approx(1.97990), "relative": 0.0}
    shown = estimica("runs", "compare", ids[0], run.id).stdout
    assert "different numbers of samples: cost, AIC and BIC cannot be compared" in shown


def test_run_without_a_fit_can_be_shown_and_compared(store: Store, ids: list[str]) -> None:
    with store.begin("sweep", name="grid", study="text", settings={}) as run:
        run.checkpoint("1", {"a": 1})
        run.finish(Status.FAILED, "R001: it [b]ended[/b] early", {"parameters": [1, 2]})
    shown = estimica("runs", "show", run.id)
    assert shown.exit_code == 0
    assert "failed: R001: it [b]ended[/b] early" in shown.stdout
    assert estimica("runs", "compare", ids[0], run.id).exit_code == 0


def test_a_run_is_named_and_called_by_its_name(store: Store, ids: list[str]) -> None:
    told = estimica("runs", "rename", ids[0], "  tight   bounds ")
    assert told.stdout == f"Run {ids[0]} is called 'tight bounds'.\n"
    assert "tight" in estimica("runs").stdout
    listed = json_of("runs", "--json")["runs"]
    assert [(r["label"], r["name"]) for r in listed] == [
        ("fit 2", "boiler 1"),
        ("tight bounds", "boiler 0"),
    ]
    assert json_of("runs", "show", "tight bounds", "--json")["run"] == ids[0]
    assert json_of("runs", "show", "fit 2", "--json")["run"] == ids[1]
    assert "tight bounds" in estimica("runs", "compare", "tight bounds", "fit 2").stdout
    with store.begin("fit", name="boiler", study={}, settings={}) as run:
        pass
    assert store.summary(run.id).label == "fit 3"
    estimica("runs", "delete", "fit 3", "--yes")
    assert len(store.runs()) == 2


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("  ", "B045: a run needs a name of at least one letter"),
        ("last", "B045: 'last' means another run already; choose another name"),
        ("x" * 81, "B045: a name of 81 letters is too long: at most 80 fit into a table"),
        ("a\u202eb", "B045: a name of a run has only letters that can be seen"),
        ("fit 2", "is called 'fit 2' already; choose another"),
    ],
)
def test_a_name_that_a_run_cannot_have_is_told(ids: list[str], name: str, words: str) -> None:
    told = estimica("runs", "rename", ids[0], name)
    assert told.exit_code == 2
    assert words in " ".join(told.stderr.split())
    assert "did you mean 'fit 1'" in estimica("runs", "show", "fti 1").stderr


def test_deleting_asks_first(store: Store, ids: list[str]) -> None:
    kept = estimica("runs", "delete", ids[0], answer="n\n")
    assert "Delete 1 run" in kept.stderr
    assert kept.stdout.strip().endswith("Deleted no runs.")
    assert len(store.runs()) == 2
    assert estimica("runs", "delete", ids[0], answer="y\n").exit_code == 0
    assert [run.id for run in store.runs()] == ids[1:]
    found = json_of("runs", "delete", ids[1], "--json", exit_code=2)
    assert found["outcome"]["code"] == "B015"
    assert json_of("runs", "delete", ids[1], "--json", "--yes")["deleted"] == ids[1:]
    assert store.runs() == []


def test_old_runs_are_deleted_together(store: Store, ids: list[str]) -> None:
    assert "Deleted no runs" in estimica("runs", "delete", "--older-than", "1", "--yes").stdout
    shown = estimica("runs", "delete", "--older-than", "0", "--yes")
    assert shown.stdout == "Deleted 2 runs.\n"
    assert store.runs() == []


def test_options_stand_before_or_after_the_verb(tmp_path: Path, ids: list[str]) -> None:
    elsewhere = tmp_path / "elsewhere.sqlite"
    with Store(elsewhere).begin("fit", name="far", study={}, settings={}) as run:
        pass
    for arguments in (
        ("--store", str(elsewhere), "show", run.id, "--json"),
        ("--json", "show", run.id, "--store", str(elsewhere)),
        ("--store", str(tmp_path), "show", ids[0], "--json"),
    ):
        assert json_of("runs", *arguments)["run"] in (run.id, ids[0])


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            ("show", "zzz"),
            "B010: there is no run 'zzz' in '.estimica/runs.sqlite'; the newest is '",
        ),
        (("compare", "last", "zzz"), "B010: there is no run 'zzz'"),
        (("delete", "zzz", "--yes"), "B010: there is no run 'zzz'"),
        (("delete",), "B016: say which runs to delete: RUN..., or --older-than DAYS"),
        (
            ("list", "--store", "note.txt"),
            "B002: 'note.txt' is not a store of runs, or a damaged one",
        ),
    ],
)
def test_mistake_is_one_message_and_exit_2(
    ids: list[str], tmp_path: Path, arguments: tuple[str, ...], text: str
) -> None:
    (tmp_path / "note.txt").write_text("not a database " * 100, encoding="utf-8")
    shown = estimica("runs", *arguments)
    assert shown.exit_code == 2
    assert shown.stderr.startswith(f"error {text}")
    assert shown.stdout == ""
    outcome = json_of("runs", *arguments, "--json", exit_code=2)["outcome"]
    assert outcome["status"] == "wrong input"
    assert outcome["code"] == text[:4]


def test_misspelt_id_is_given_a_suggestion(ids: list[str]) -> None:
    shown = estimica("runs", "show", ids[0][:-1] + "-")
    assert "did you mean '" in shown.stderr
    assert ids[0] in shown.stderr
