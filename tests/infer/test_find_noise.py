"""Noise in one state at a time: the state whose equation is incomplete is found."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import expm
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.base.errors import InferError

MODEL = """model Room
  parameter Real Ri = 0.005; parameter Real Re = 0.01;
  parameter Real Ci = 4e5; parameter Real Ce = 4e6;
  input Real Ta; input Real Q;
  Real Ti(start = 20, fixed = true, unit = "degC");
  Real Te(start = 15, fixed = true, unit = "degC");
equation
  Ci*der(Ti) = (Te - Ti)/Ri + Q;
  Ce*der(Te) = (Ti - Te)/Ri + (Ta - Te)/Re;
end Room;"""
STEP = 600.0


def table(noise: dict[str, float], n: int = 400, seed: int = 1) -> pd.DataFrame:
    """The room with noise in some states, by the exact steps of a linear system."""
    Ri, Re, Ci, Ce = 0.005, 0.01, 4e5, 4e6
    A = np.array([[-1 / (Ri * Ci), 1 / (Ri * Ci)], [1 / (Ri * Ce), -(1 / Ri + 1 / Re) / Ce]])
    B = np.array([[0.0, 1 / Ci], [1 / (Re * Ce), 0.0]])
    S = np.diag([noise.get("Ti", 0.0) ** 2, noise.get("Te", 0.0) ** 2])
    block = expm(np.block([[-A, S], [np.zeros((2, 2)), A.T]]) * STEP)
    F = block[2:, 2:].T
    Qd = F @ block[:2, 2:]
    G = np.linalg.solve(A, (F - np.eye(2)) @ B)
    L = np.linalg.cholesky(Qd + 1e-18 * np.eye(2))
    rng = np.random.default_rng(seed)
    t = np.arange(n) * STEP
    u = np.column_stack([5 + 5 * np.sin(t / 1.4e4), 1000.0 * (np.floor(t / 2e4) % 2)])
    x, values = np.array([20.0, 15.0]), []
    for k in range(n):
        values.append(x[0] + 0.05 * rng.normal())
        x = F @ x + G @ u[k] + L @ rng.normal(size=2)
    return pd.DataFrame({"time": t, "T": values, "Ta": u[:, 0], "Q": u[:, 1]})


def study(noise: dict[str, float], criterion: str = "ml", **more: object) -> es.Study:
    case = es.Case(
        "a", table(noise), inputs={"Ta": "Ta", "Q": "Q"}, outputs={"Ti": {"column": "T"}}
    )
    tuners = [es.Tuner("Ri", scale="log"), es.Tuner("Ce", scale="log")]
    return es.Study(es.load_model(MODEL), tuners, [case], criterion, name="room", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("state", ["Ti", "Te"])
def test_the_state_with_noise_helps_most(state: str) -> None:
    search = es.find_noise(study({state: 0.002}), progress=False)
    assert search.found[0] == state
    assert f"noise in {state} helps most" in search.outcome.message
    assert "its equation is incomplete" in search.outcome.message
    first = search.release.steps[0]
    gains = {search.states[c.released[0]]: c.cost_reduction for c in first.candidates}
    assert max(gains, key=gains.__getitem__) == state
    assert search.fit[f"noise_{state}"] == pytest.approx(0.002, rel=0.4)
    assert search.process_noise[state] == f"noise_{state}"


def test_without_noise_in_the_data_none_is_found() -> None:
    search = es.find_noise(study({}, "oe"), progress=False)
    assert search.found == ()
    assert "noise in no state helps" in search.outcome.message
    assert search.fit.outcome.ok
    assert "does not help" in repr(search)
    assert search.process_noise == {}


def test_it_shows_itself_everywhere(tmp_path: Path) -> None:
    search = es.find_noise(study({"Te": 0.002}), progress=False)
    table = search.table()
    assert table.rows[0][0] == "Te"
    assert table.rows[0][2] == "K/√s"
    assert "0.5 χ²(0) + 0.5 χ²(1)" in table.note
    told = json.loads(json.dumps(search.to_dict()))
    assert told["command"] == "find-noise"
    assert told["found"][0] == "Te"
    assert told["steps"][0]["candidates"][0]["state"] == "Te"
    page = search.page()
    assert '[process_noise]: Te = "noise_Te"' in page.sections[1].text
    assert search.report(tmp_path / "noise.html").exists()
    bars = search.picture()
    assert {b.name for b in bars.groups[0][1]} == {"Ti", "Te"}  # type: ignore[union-attr]
    assert search.plot("fit") is not None
    with pytest.raises(InferError, match="I111"):
        search.plot("gain")


def test_it_goes_on_from_the_noise_of_the_study_and_stops_after_its_steps() -> None:
    own = study({"Te": 0.002}, "prediction", process_noise={"Ti": "s"})
    search = es.find_noise(own, progress=False, steps=1)
    assert list(search.states.values()) == ["Te"]
    assert "s" in search.release.steps[0].free
    assert len(search.release.steps) == 1
    assert search.found == ("Te",)


def test_noise_that_is_there_already_is_tried_from_none_where_every_state_has_it() -> None:
    own = study({"Te": 0.002}, "prediction", process_noise={"Ti": "s", "Te": "own"})
    search = es.find_noise(own, progress=False)
    plain = es.find_noise(study({"Te": 0.002}), progress=False)
    assert search.states == {"s": "Ti", "own": "Te"}
    assert search.found == plain.found == ("Te",)
    assert search.process_noise == {"Te": "own"}
    assert search.fit["own"] == pytest.approx(plain.fit["noise_Te"], rel=1e-4)
    assert "beside no noise in the states" in repr(search)


@pytest.mark.parametrize(
    ("states", "process_noise", "code"),
    [
        (["Tx"], {}, "I131"),
        (["Ti"], {"Ti": "2*s"}, "I131"),
        (["Ti"], {"Ti": "s", "Te": "s"}, "I131"),
        (None, {"Ti": 0.2, "Te": 0.1}, "I132"),
    ],
)
def test_what_cannot_be_tried_is_refused(
    states: list[str] | None, process_noise: dict[str, float | str], code: str
) -> None:
    with pytest.raises(InferError) as error:
        es.find_noise(study({}, "prediction", process_noise=process_noise), states=states)
    assert error.value.code == code
    with pytest.raises(InferError) as error:
        es.find_noise(study({}).with_(estimation=es.Estimation(criterion="ml", loss="huber")))
    assert error.value.code == "I130"


def _interrupted(step: object) -> int | None:
    raise KeyboardInterrupt


def test_the_command_stores_its_run_and_takes_it_up_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table({"Te": 0.002}, 200).to_csv("room.csv", index=False)
    Path("Room.mo").write_text(MODEL)
    Path("room.toml").write_text(
        '[model]\nsource = "Room.mo"\n[tune]\nRi = { scale = "log" }\n[estimate]\n'
        'criterion = "ml"\n[[case]]\nname = "a"\ndata = "room.csv"\n'
        'inputs = { Ta = "Ta", Q = "Q" }\noutputs = { Ti = "T" }\n'
    )
    runner = CliRunner()
    with monkeypatch.context() as patched:
        patched.setattr("estimica.infer.release.run._proposed", _interrupted)
        stopped = runner.invoke(app, ["find-noise", "room.toml", "--json"])
    assert stopped.exit_code in (1, 130), stopped.output
    assert json.loads(stopped.stdout)["outcome"]["status"] == "interrupted"
    again = ["find-noise", "room.toml", "--resume", "last", "--json", "--report", "r.html"]
    done = runner.invoke(app, again)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["found"] == ["Te"]
    assert Path("r.html").exists()
    words = runner.invoke(app, ["find-noise", "room.toml", "Te", "--steps", "1", "--no-store"])
    assert "noise in Te helps most" in words.stdout.replace("\n", " ")
    wrong = runner.invoke(app, ["find-noise", "room.toml", "Tx"])
    assert wrong.exit_code == 2
    assert "I131" in wrong.output
