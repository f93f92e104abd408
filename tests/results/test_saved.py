"""Results as files: every kind of them comes back as it was, and nothing else is read."""

from __future__ import annotations

import base64
import io
import json
import os
import pickle
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.results import every

import estimica as es
from estimica.simulate.function.model import function_model_of_file

NAMES = [*every.MAKERS, *every.OTHERS]


def test_no_public_result_is_forgotten() -> None:
    for name, function in every.public_functions().items():
        if every.returned(function) & {t.__name__ for t in every.saved_classes()}:
            assert name in every.MAKERS, f"tests/results/every.py makes no result of es.{name}"
    made = {type(every.result(name)) for name in NAMES if name != "sample"}
    assert set(every.saved_classes()) - made == {es.Posterior}


@pytest.mark.parametrize("name", NAMES)
def test_a_result_comes_back_as_it_was(name: str, tmp_path: Path) -> None:
    if name == "sample":
        pytest.importorskip("emcee")
    result = every.result(name)
    path = result.save(tmp_path / "result.json")
    again = es.load_result(path)
    assert type(again) is type(result)
    assert type(result).load(path).to_dict() == result.to_dict()
    assert repr(again) == repr(result)
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert stored["result"] == json.loads(json.dumps(result.to_dict(), allow_nan=False))


def test_the_file_holds_what_the_command_prints(tmp_path: Path) -> None:
    stored = json.loads(every.fit().save(tmp_path / "fit.json").read_text())
    assert stored["kind"] == "Fit"
    assert stored["result"]["command"] == "fit"
    assert stored["result"]["parameters"]["K"]["value"] == every.fit()["K"]


def test_a_loaded_fit_can_be_gone_on_with(tmp_path: Path) -> None:
    fit = es.Fit.load(every.fit().save(tmp_path / "fit.json"))
    assert fit.plot().to_json() == every.fit().plot().to_json()
    here, there = es.bootstrap(every.fit(), 5), es.bootstrap(fit, 5)
    np.testing.assert_array_equal(there.values, here.values)
    np.testing.assert_array_equal(es.bootstrap(fit, 5, workers=2).values, here.values)
    assert es.Fit.load(fit.save(tmp_path / "again.json")).to_dict() == fit.to_dict()


def test_a_modelica_fit_with_bounds_cases_and_expressions_comes_back(tmp_path: Path) -> None:
    tuners = [
        es.Tuner("gain", start=1.5, min=0.1, max=1.8, drives={"K": "gain^2/1.5"}),
        es.Tuner("tau", start=3, scale="log"),
    ]
    second = es.Case(
        "second", every.data(), inputs={"u": "u"}, outputs={"y": "y"}, role="validate",
        free_start=["y"],
    )  # fmt: skip
    fit = es.fit(every.modelica().with_(tuners=tuners, cases=[every.case(), second]))
    again = es.Fit.load(fit.save(tmp_path / "fit.json"))
    assert again.to_dict() == fit.to_dict()
    assert es.profile(again, "tau", points=3).to_dict() | {"seconds": 0} == (
        es.profile(fit, "tau", points=3).to_dict() | {"seconds": 0}
    )


# --- models that are code or files ---------------------------------------------------------------


def lag(u: Any, t: Any, K: float = 1.5, tau: float = 3.0) -> Any:
    """The lag as a function."""
    y, keep = np.zeros(len(t)), np.exp(-0.25 / tau)
    for k in range(1, len(t)):
        y[k] = keep * y[k - 1] + (1 - keep) * K * u[k - 1]
    return y


def test_a_function_is_found_again_where_it_is_defined(tmp_path: Path) -> None:
    study = es.Study(es.function_model(lag), ["K", "tau"], [every.case()])
    again = es.Fit.load(es.fit(study).save(tmp_path / "fit.json"))
    assert again.study.model.function is lag  # type: ignore[attr-defined]
    assert es.fit(again.study)["K"] == pytest.approx(again["K"])


def test_without_its_function_a_result_can_be_read_but_not_gone_on_with(tmp_path: Path) -> None:
    model = es.function_model(lambda u, t, K=1.5: K * u)
    fit = es.fit(es.Study(model, ["K"], [every.case()]))
    again = es.Fit.load(fit.save(tmp_path / "fit.json"))
    assert repr(again) == repr(fit)
    assert again.plot("residuals").to_json() == fit.plot("residuals").to_json()
    with pytest.raises(es.EstimicaError, match=r"B055: the function '.*<lambda>' of .* is not def"):
        es.bootstrap(again, 3)
    assert es.Fit.load(again.save(tmp_path / "twice.json")).to_dict() == fit.to_dict()


def test_the_code_of_a_file_must_be_there_and_unchanged(tmp_path: Path) -> None:
    code = tmp_path / "gain.py"
    code.write_text("def gain(u, t, K=1.5):\n    return K * u\n")
    model = function_model_of_file("gain.py:gain", tmp_path)
    fit = es.fit(es.Study(model, ["K"], [every.case()]))
    path = fit.save(tmp_path / "fit.json")
    assert "return K" not in path.read_text()
    assert es.bootstrap(es.Fit.load(path), 3).replicates == 3
    code.write_text("def gain(u, t, K=1.5):\n    return 2 * K * u\n")
    with pytest.raises(es.EstimicaError, match=r"the code '.*gain.py' .*has changed since"):
        es.Fit.load(path)
    code.unlink()
    with pytest.raises(es.EstimicaError, match=r"it needs the code .*there is no file 'gain\.py'"):
        es.Fit.load(path)


def test_a_fit_of_an_fmu_comes_back(tmp_path: Path) -> None:
    from tests.smoke.studies import study_of

    row = {"model": "fmu", "roles": "one", "loss": "squared", "criterion": "ml"}
    fit = es.fit(study_of({**row, "search": "levenberg-marquardt", "tuners": "plain"}))
    again = es.Fit.load(fit.save(tmp_path / "fit.json"))
    assert again.to_dict() == fit.to_dict()
    assert es.bootstrap(again, 2).values.shape == (2, 2)


# --- files that are something else ---------------------------------------------------------------


def refused(path: Path) -> str:
    with pytest.raises(es.EstimicaError) as told:
        es.load_result(path)
    return str(told.value)


def test_another_kind_of_result_is_told(tmp_path: Path) -> None:
    path = every.result("bootstrap").save(tmp_path / "replicates.json")
    with pytest.raises(es.EstimicaError, match=r"B052: '.*' holds a Bootstrap, not a Fit; read it"):
        es.Fit.load(path)


def test_files_that_hold_no_result_are_told(tmp_path: Path) -> None:
    path = tmp_path / "fit.json"
    every.fit().save(path)
    assert "B051: there is no file" in refused(tmp_path / "fti.json")
    assert "did you mean 'fit.json'" in refused(tmp_path / "fti.json")
    path.write_text("time,u,y\n0,1,2\n")
    assert "is not a result that was saved with .save(path)" in refused(path)
    path.write_text(json.dumps(every.fit().to_dict()))
    assert "it is what a command prints with --json, which has the numbers only" in refused(path)
    assert "B051: cannot read" in refused(tmp_path)


def test_a_newer_form_and_a_damaged_one_are_told(tmp_path: Path) -> None:
    path = every.fit().save(tmp_path / "fit.json")
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "format_version": 2, "estimica": "3.1"}))
    assert "B053" in refused(path)
    assert "was saved by Estimica 3.1, in a form that this version" in refused(path)
    for state in (content["state"][:-400], "?", base64.b64encode(b"x").decode(), None, ""):
        path.write_text(json.dumps({**content, "state": state}))
        assert "B054" in refused(path)
        assert "Its numbers stand under 'result'" in refused(path)


class Bad:
    """Would run a command when it is unpacked."""

    def __reduce__(self) -> tuple[object, ...]:
        return os.system, ("touch bad",)


class Trusted:
    """Would bring its own code."""

    def __reduce__(self) -> tuple[object, ...]:
        from estimica.base.code.trusted import CodeFile

        return CodeFile, ("bad.py", Path("bad.py"), b"import os")


class Function:
    """Would call one of our own functions."""

    def __reduce__(self) -> tuple[object, ...]:
        return es.write_demo, ("here",)


@pytest.mark.parametrize("bad", [Bad(), Trusted(), Function()])
def test_a_file_that_would_run_something_is_refused(
    bad: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    content = json.loads(every.fit().save(tmp_path / "fit.json").read_text())
    packed = io.BytesIO()
    pickle.Pickler(packed).dump(bad)
    content["state"] = base64.b64encode(zlib.compress(packed.getvalue())).decode()
    (tmp_path / "fit.json").write_text(json.dumps(content))
    assert "which no result is made of" in refused(tmp_path / "fit.json")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fit.json"]


def test_a_result_is_read_in_another_process(tmp_path: Path) -> None:
    path = every.result("bootstrap").save(tmp_path / "replicates.json")
    code = f"import estimica as es; print(es.load_result({str(path)!r}).replicates)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout == "12\n"


def test_data_of_a_data_frame_travel_along(tmp_path: Path) -> None:
    fit = es.Fit.load(every.fit().save(tmp_path / "fit.json"))
    table = fit.study.cases[0].data
    pd.testing.assert_frame_equal(pd.DataFrame(dict(table.columns)), every.data())  # type: ignore[attr-defined]
