"""Designs in a real browser: cases without data, tables like a spreadsheet, live criteria, runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.apps.web.browser import IN_BROWSER, cell, choose, put, until
from tests.apps.web.browser import tables as tables_of

pytestmark = IN_BROWSER
MODEL = """
model Mass "A mass that a controller brings to 1"
  parameter Real k(min = 0.1) = 4 "gain";
  parameter Real d = 2 "damping";
  parameter Real m(unit = "kg") = 1 "mass";
  output Real x(start = 0.25, fixed = true);
  Real v(start = 0, fixed = true, unit = "m/s");
equation
  der(x) = v;
  m*der(v) = k*(1 - x) - d*v;
  annotation(experiment(StopTime = 10));
end Mass;
"""
STUDY = """# the best controller
[model]
source = "Mass.mo"

[tune]
k = { start = 4, min = 0.5, max = 20 }   # gain
d = { start = 2, min = 0.2, max = 20 }
"""
PACKAGE = """package Plant "Parts of a plant"
  package Tanks "Tanks and pumps"
    model Leaky "A tank with a leak"
      parameter Real a = 0.5; output Real h(start = 1, fixed = true);
    equation der(h) = -a*h;
    end Leaky;
    partial model Base Real h; end Base;
  end Tanks;
end Plant;
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served")
    (folder / "Mass.mo").write_text(MODEL)
    (folder / "Plant.mo").write_text(PACKAGE)
    (folder / "mass.toml").write_text(STUDY)
    (folder / "points.csv").write_text("x,y\n1,2.9\n2,5.1\n3,7.0\n4,9.1\n")
    return folder


def paste(page: Page, row: int, column: int, text: str) -> None:
    page.evaluate("text => navigator.clipboard.writeText(text)", text)
    cell(page, row, column).click()
    page.keyboard.press("Control+v")


def tables(folder: Path, study: str = "mass.toml") -> dict[str, Any]:
    return tables_of(folder, study)


def test_a_design_is_filled_like_a_spreadsheet_run_compared_and_downloaded(
    page: Page, address: str, folder: Path
) -> None:
    # a: cases without data
    page.goto(f"{address}/study/mass.toml?at=case")
    page.get_by_role("button", name="Add a case without data").click()
    expect(cell(page, 0, 1)).to_contain_text("case 1")
    put(page, 0, 1, "light")
    put(page, 0, 2, "8")
    # b: cases × values; a pasted block makes the cases that are missing
    choose(page, "Add a parameter as a column", "m")
    expect(cell(page, 0, 3)).to_contain_text("1")  # the model's, in grey
    paste(page, 0, 1, "light\t8\t0,5\nnormal\t8\t1\nheavy\t8\t2\n")
    until(lambda: len(tables(folder).get("case", [])) == 3, page)
    cases = tables(folder)["case"]
    assert [c["name"] for c in cases] == ["light", "normal", "heavy"]
    assert [c["stop"] for c in cases] == [8, 8, 8]
    assert [c["fix"]["m"] for c in cases] == [0.5, 1, 2]
    assert "# the best controller" in (folder / "mass.toml").read_text()
    put(page, 2, 2, "8 s")  # what is not a number is told, and not written
    expect(page.get_by_text("heavy, stop: '8 s' is not a number")).to_be_visible()
    assert tables(folder)["case"][2]["stop"] == 8
    # fill down with Ctrl+D, undone as one step
    cell(page, 0, 2).click()
    page.keyboard.type("9")
    page.keyboard.press("Enter")
    cell(page, 0, 2).click()
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Control+d")
    until(lambda: [c["stop"] for c in tables(folder)["case"]] == [9, 9, 9], page)

    # b: criteria × cases
    page.goto(f"{address}/study/mass.toml?at=criterion")
    paste(
        page, 0, 1,
        "error\titae\tx\t1\t\t0.5\t0.5\t0.5\novershoot\tovershoot\tx\t1\tat-most\t0.05\t0.05\t0.1",
    )  # fmt: skip
    until(lambda: len(tables(folder).get("criterion", [])) == 2, page)
    error, overshoot = tables(folder)["criterion"]
    assert error == {"name": "error", "kind": "itae", "of": "x", "reference": 1, "demand": 0.5}
    assert overshoot["demand"] == {"light": 0.05, "normal": 0.05, "heavy": 0.1}
    assert overshoot["role"] == "at-most"
    put(page, 1, 6, "off", "–")  # not in this case
    until(lambda: tables(folder)["criterion"][1].get("cases") == ["normal", "heavy"], page)
    put(page, 0, 7, "-3")
    expect(page.get_by_text("error, normal: a demand is positive, not -3")).to_be_visible()
    put(page, 0, 7, "0.5")
    expect(page.get_by_text("a demand is positive")).to_have_count(0)
    page.get_by_role("button", name="Weights").click()
    expect(cell(page, 1, 2)).to_contain_text("–")  # a limit weighs nothing
    put(page, 0, 4, "2")
    until(lambda: tables(folder)["criterion"][0].get("weight") == {"heavy": 2}, page)

    # a case that is renamed keeps what is said of it
    page.goto(f"{address}/study/mass.toml?at=case")
    put(page, 1, 1, "usual")
    until(lambda: tables(folder)["criterion"][1]["cases"] == ["usual", "heavy"], page)
    assert tables(folder)["criterion"][1]["demand"] == {"usual": 0.05, "heavy": 0.1}

    # it runs; criteria and demands are on the live page
    runs = [optimised(page, address) for _ in range(2)]
    # f: the optimum as Modelica
    with page.expect_download() as download:
        page.get_by_role("button", name="Modelica").click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert re.search(r"extends Mass\(", text)
    assert "largest criterion/demand" in text
    assert re.search(r"k\(min[^)]*\)|k = [\d.]+", text)
    # e: runs side by side
    page.goto(f"{address}/study/mass.toml?at=runs")
    for run in runs:
        page.get_by_label(f"run {run}").click()
    page.get_by_role("button", name="Compare ticked runs").click()
    expect(page.get_by_text("Criteria over their demands").first).to_be_visible()
    expect(page.get_by_text("Curves, one over the other")).to_be_visible()
    expect(page.locator(".est-figure[data-drawn]").first).to_be_visible()


def optimised(page: Page, address: str) -> str:
    page.goto(f"{address}/study/mass.toml")
    page.get_by_role("button", name="Optimise", exact=True).click()
    page.wait_for_url(re.compile("/runs/"))
    expect(page.get_by_text("done", exact=True)).to_be_visible()
    return page.url.rpartition("/")[2]


def test_free_starts_are_a_table_with_the_values_of_the_model(
    page: Page, address: str, folder: Path
) -> None:
    (folder / "starts.toml").write_text(
        f'{STUDY}\n[[case]]\nname = "a"\nstop = 4\n[[case]]\nname = "b"\nstop = 4\n'
    )
    page.goto(f"{address}/study/starts.toml?at=starts")
    box = page.get_by_label("States with a free start", exact=True)
    box.click()
    page.get_by_role("option", name="x", exact=True).click()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(cell(page, 1, 2)).to_contain_text("0.25")  # as the model declares it
    paste(page, 0, 3, "0\t1\n0\t2")
    wanted = [{"start": 0.25, "min": 0, "max": 1}, {"start": 0.25, "min": 0, "max": 2}]
    until(
        lambda: [c["free_start"]["x"] for c in tables(folder, "starts.toml")["case"]] == wanted,
        page,
    )


def test_a_class_of_a_package_is_picked_from_the_tree(
    page: Page, address: str, folder: Path
) -> None:
    page.goto(f"{address}/new")
    page.get_by_role("button", name="Class of a package or library").click()
    expect(page.get_by_label("Open Plant.Tanks")).to_have_count(0)  # nothing is read ahead
    for package in ("Plant.mo", "Plant", "Plant.Tanks"):
        page.get_by_label(f"Open {package}", exact=True).click()
    expect(page.get_by_text("partial model")).to_be_visible()
    expect(page.get_by_label("Take Plant.Tanks.Base")).to_have_count(0)
    page.get_by_label("Take Plant.Tanks.Leaky", exact=True).click()
    expect(page.get_by_label("Name of the study")).to_have_value("leaky")
    page.get_by_role("button", name="Propose a study").click()
    page.wait_for_url(re.compile("/study/leaky.toml"))
    made = tables(folder, "leaky.toml")["model"]
    assert made == {"source": "Plant.mo", "class": "Plant.Tanks.Leaky"}


def test_formulas_and_transfer_functions_are_models_of_a_new_study(
    page: Page, address: str, folder: Path
) -> None:
    page.goto(f"{address}/new")
    page.get_by_role("button", name="Transfer function").click()
    page.get_by_label("Name of the study").fill("lag")
    box = page.locator("textarea").first
    box.fill("K/(1 + tau)")
    page.get_by_role("button", name="Propose a study").click()
    expect(page.get_by_text("is not a transfer function in s or z")).to_be_visible()
    box.fill("K/(1 + tau*s)")
    box.blur()
    page.get_by_role("button", name="Propose a study").click()
    page.wait_for_url(re.compile("/study/lag.toml"))
    assert tables(folder, "lag.toml")["model"]["source"] == "K/(1 + tau*s)"

    page.goto(f"{address}/new")
    page.get_by_role("button", name="Formula").click()
    page.locator("textarea").first.fill("y = a + b*x")
    choose(page, "Data files, one for each case", "points.csv")
    page.get_by_label("Name of the study").fill("line")
    page.get_by_role("button", name="Propose a study").click()
    page.wait_for_url(re.compile("/study/line.toml"))
    line = tables(folder, "line.toml")
    assert line["static"] == {"expression": "a + b*x"}
    assert line["tune"] == {"a": 1, "b": 1}
    assert (line["case"][0]["inputs"], line["case"][0]["outputs"]) == ({"x": "x"}, {"y": "y"})
    expect(page.get_by_text("The study is in order")).to_be_visible()
