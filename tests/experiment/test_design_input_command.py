"""`estimica design-input` as a user meets it: table, JSON, files, runs, messages, exit codes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.execute.runs.store import Store

EXAMPLES = Path(__file__).parents[2] / "examples" / "input_design"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["design-input", *map(str, arguments)])


def told(result: Result) -> dict[str, object]:
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLES, tmp_path / "input_design"))


def changed(path: Path, old: str, new: str) -> Path:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    return path


def test_table_page_csv_and_stored_run(folder: Path) -> None:
    page, csv = folder / "page.html", folder / "input.csv"
    result = run(folder / "square_wave.toml", "--report", page, "--csv", csv)
    assert result.exit_code == 0, result.output
    assert "the best is square with frequency 0.05: R 2.512, S_min 0.4183" in result.stdout
    assert (
        page.read_text(encoding="utf-8").count("Sensitivity measures") == 2
    )  # in the contents too
    data = es.read_data(csv)
    assert len(data) == 1000
    assert set(np.unique(data.column("u"))) == {-1.0, 1.0}
    stored = Store.beside(folder / "square_wave.toml").runs()
    assert [r.command for r in stored] == ["design-input"]


def test_json_has_candidates_and_best(folder: Path) -> None:
    found = told(run(folder / "square_wave.toml", "--json", "--no-store"))
    assert found["command"] == "design-input"
    assert found["outcome"]["status"] == "done"  # type: ignore[index]
    candidates = found["candidates"]
    assert isinstance(candidates, list)
    assert len(candidates) == 7
    for key in ("S_min", "S_i_min", "R", "R_i", "D", "A", "stderr", "settings"):
        assert key in candidates[0]
    best = found["best"]
    assert isinstance(best, dict)
    assert best["index"] == 3
    assert best["settings"] == {"frequency": 0.05}
    assert best["R"] == pytest.approx(2.5115, abs=1e-3)
    assert set(best["S_i_min"]) == {"K", "tau"}
    assert len(found["samples"]["u"]) == 1000  # type: ignore[index]


@pytest.mark.parametrize(
    ("file", "about"),
    [
        ("kutau.toml", "square-ramp with amplitude 6: R 5.462"),
        ("kutau_function.toml", "square-ramp with amplitude 6: R 5.462"),
        ("sine.toml", "sine with frequency 0.0547"),
        ("dc_motor.toml", "square with frequency"),
        ("multisine.toml", "multisine with amplitudes"),
    ],
)
def test_the_examples_run(folder: Path, file: str, about: str) -> None:
    result = run(folder / file, "--no-store", "--quiet")
    assert result.exit_code == 0, result.output
    assert about in " ".join(result.stdout.split())


def test_options_go_before_the_table(folder: Path) -> None:
    path = folder / "square_wave.toml"
    found = told(run(path, "--json", "--no-store", "--criterion", "D", "--refine"))
    assert found["criterion"] == "D"
    assert len(found["candidates"]) == 8  # type: ignore[arg-type]
    wrong = run(path, "--no-store", "--criterion", "X")
    assert wrong.exit_code == 2
    assert "criterion: 'X' is none of 'R', 'S_min', 'D', 'A', 'E'" in wrong.output


def test_failures_end_with_status_one(folder: Path) -> None:
    path = changed(
        folder / "square_wave.toml", "[0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5]", "[6, 7]"
    )
    result = run(path, "--no-store", "--json", "--csv", folder / "none.csv")
    assert result.exit_code == 1
    found = told(result)
    assert found["outcome"]["status"] == "failed"  # type: ignore[index]
    assert found["best"] is None
    assert found["failed"] == 2
    assert not (folder / "none.csv").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('signal = "square"', 'signal = "sqare"', "W009: there is no signal 'sqare'; did you mean"),
        ("vary", "vari", "Q002: [input_design]: unknown key 'vari'; did you mean 'vary'?"),
        ("[0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5]", "[]", "Q032: [input_design]: vary: frequency"),
        ("tau = 2\n", "taw = 2\n", "no parameter 'taw'; did you mean 'tau'?"),
    ],
)
def test_mistakes_end_with_status_two_and_a_word(
    folder: Path, old: str, new: str, message: str
) -> None:
    path = changed(folder / "square_wave.toml", old, new)
    result = run(path, "--no-store")
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert "Traceback" not in result.output


def test_a_page_that_cannot_be_written_is_told_before_the_work(folder: Path) -> None:
    result = run(folder / "square_wave.toml", "--csv", folder / "nowhere" / "input.csv")
    assert result.exit_code == 2
    assert "P001" in result.output


def test_values_of_a_stored_fit(folder: Path) -> None:
    times = es.signals.times(0.1, 600)
    model = es.transfer_function("K/(1 + tau*s)")
    truth = {"K": 2.0, "tau": 0.7}
    data = es.simulate_experiment(model, {"u": es.signals.Square(0.1)}, times, truth, noise=0.02)
    data.to_csv(folder / "run.csv")
    path = folder / "square_wave.toml"
    with path.open("a", encoding="utf-8") as file:
        file.write(
            '\n[[case]]\nname = "run"\ndata = "run.csv"\n'
            'inputs = { u = "u" }\noutputs = { y = "y" }\n'
        )
    nothing = run(path, "--fit", "last")
    assert nothing.exit_code == 2
    assert "no run of fit or release of study 'square_wave'" in " ".join(nothing.output.split())
    assert CliRunner().invoke(app, ["fit", str(path), "--quiet"]).exit_code == 0
    found = told(run(path, "--fit", "last", "--json"))
    assert found["values"] == pytest.approx(truth, rel=0.02)
    faster = found["best"]["settings"]["frequency"]  # type: ignore[index]
    assert faster > 0.05
    assert found["from"]["command"] == "fit"  # type: ignore[index]
    told(run(path, "--json"))  # one that has no values of any run
    other = run(path, "--fit", Store.beside(path).runs(1, "design-input")[0].id)
    assert "(design-input of 'square_wave') has found no values" in " ".join(other.output.split())


def test_an_interrupted_run_is_taken_up_where_it_ended(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from estimica.experiment.design import signal_class as input_design_class

    path = folder / "square_wave.toml"
    whole = told(run(path, "--json", "--no-store"))
    attempt, seen = input_design_class.evaluate_candidate, []

    def counted(here: object, settings: dict[str, float]) -> object:
        seen.append(settings["frequency"])
        if len(seen) == 4:
            raise KeyboardInterrupt
        return attempt(here, settings)  # type: ignore[arg-type]

    monkeypatch.setattr(input_design_class, "evaluate_candidate", counted)
    first = run(path, "--json")
    assert first.exit_code == 1
    assert told(first)["outcome"]["status"] == "interrupted"  # type: ignore[index]
    assert len(told(first)["candidates"]) == 3  # type: ignore[arg-type]
    other = run(path, "--resume", "last", "--criterion", "D")
    assert other.exit_code == 2
    assert "was begun with criterion R" in " ".join(other.output.split())
    again = told(run(path, "--json", "--resume", "last"))
    assert again["run"] == told(first)["run"]
    assert again["candidates"] == whole["candidates"]
    assert sorted(seen) == sorted([0.005, 0.01, 0.02, 0.05, 0.05, 0.1, 0.2, 0.5])


def test_free_form_inputs_are_handed_on(folder: Path) -> None:
    path = changed(folder / "square_wave.toml", "duration = 100", "duration = 10\npieces = 5")
    changed(path, "sigma = 0.02", "min = -1\nmax = 1\nstarts = 1\nsigma = 0.02")
    result = run(path, "--kind", "free", "--criterion", "D", "--json", "--no-store")
    assert result.exit_code == 0, result.output
    assert told(result)["command"] == "design-input"
