"""Notebooks as a user sees them: what each cell puts out, and the tutorial from its first cell."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

nbformat: Any = pytest.importorskip("nbformat")
nbclient: Any = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = ROOT / "docs" / "tutorial" / "notebook.ipynb"

HEAD = """
import numpy as np
import pandas as pd
import estimica as es
def line(u, t, K=1.0):
    return K * u
t = np.arange(0, 5, 0.1)
u = np.sin(t)
noise = np.random.default_rng(1).normal(0, 0.01, len(t))
data = pd.DataFrame({"time": t, "u": u, "y": 2 * u + noise})
case = es.Case("sine", data, inputs={"u": "u"}, outputs={"y": "y"})
study = es.Study(es.function_model(line), ["K"], [case])
fit = es.fit(study, progress=False)
"""


def executed(notebook: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    found = importlib.util.find_spec("estimica")
    assert found is not None
    assert found.origin is not None
    monkeypatch.setenv("PYTHONPATH", str(Path(found.origin).parent.parent))
    monkeypatch.setenv("PYTHONWARNINGS", os.environ.get("PYTHONWARNINGS", "default"))
    monkeypatch.setenv("IPYTHONDIR", str(folder / "ipython"))
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    return notebook


def cells(*sources: str) -> Any:
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in sources])


def shown(cell: Any) -> list[tuple[str, set[str]]]:
    """(kind of output, its forms) of what a cell puts out, without warnings of the kernel."""
    return [
        (o.output_type, set(o.data) if "data" in o else {o.name})
        for o in cell.outputs
        if not (o.output_type == "stream" and o.name == "stderr")
    ]


def test_a_cell_shows_a_result_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bar = "from estimica.base.public import bar\nbar.BEGIN = bar.EVERY = 0.0"
    notebook = executed(
        cells(
            HEAD,
            "fit",
            "display(fit)",
            "print(fit)",
            "fit.summary()",
            "fit.plot()",
            "es.residuals(fit)",
            bar,
            "replicates = es.bootstrap(fit, 20)",
            "es.bootstrap(fit, 20, progress=False)",
            "print(es.bootstrap(fit, 4, workers=2, progress=False).replicates)",
        ),
        tmp_path,
        monkeypatch,
    )
    of = {c.source: c for c in notebook.cells}
    tables = {"text/plain", "text/html"}
    assert shown(of["fit"]) == [("execute_result", tables)]
    assert shown(of["display(fit)"]) == [("display_data", tables)]
    assert shown(of["print(fit)"]) == [("stream", {"stdout"})]
    assert of["print(fit)"].outputs[0].text.count("std. error") == 1
    assert shown(of["fit.summary()"]) == [("execute_result", tables)]
    assert len(shown(of["fit.plot()"])) == 1
    assert shown(of["es.residuals(fit)"]) == [("execute_result", tables)]
    html = of["fit"].outputs[0].data["text/html"]
    assert html.count("<table") == 2
    assert "<script" not in html
    # the bar that has ended is one line of text
    (line,) = of["replicates = es.bootstrap(fit, 20)"].outputs
    assert line.data["text/plain"].startswith("bootstrap: 20 of 20 replicates, ")
    assert "<progress" not in line.data["text/html"]
    assert shown(of["es.bootstrap(fit, 20, progress=False)"]) == [("execute_result", tables)]
    assert notebook.cells[-1].outputs[-1].text == "4\n"  # a function of the notebook, by workers


def test_the_tutorial_runs_from_its_first_cell_to_its_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("arviz")
    notebook = executed(nbformat.read(TUTORIAL, 4), tmp_path, monkeypatch)
    (text,) = [
        o.text for c in notebook.cells for o in c.get("outputs", ()) if o.get("name") == "stdout"
    ]
    assert "log-likelihood" in text
    assert (tmp_path / "room.html").stat().st_size > 10_000
    code = [c for c in notebook.cells if c.cell_type == "code"]
    shown_last = {c.source.splitlines()[-1]: c.outputs for c in code}
    # planted: R = 0.005, found within three standard errors of 6.5e-6
    assert float(shown_last['again["R"]'][0].data["text/plain"]) == pytest.approx(0.005, abs=2e-5)
    assert len(shown_last["fit.plot()"]) == 1


def test_the_tutorial_is_kept_without_outputs() -> None:
    notebook = nbformat.read(TUTORIAL, 4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None


def test_the_page_of_the_tutorial_is_that_of_the_notebook() -> None:
    spec = importlib.util.spec_from_file_location("page", ROOT / "docs" / "notebook_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PAGE.read_text(encoding="utf-8") == module.page(), (
        "renew it with: python docs/notebook_page.py"
    )
