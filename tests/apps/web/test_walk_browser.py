"""A walk through the workbench at 820 px: names, differences, fixes, ticks, sliders, series."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.apps.web.browser import IN_BROWSER, cell, tables, until
from typer.testing import CliRunner

from estimica.apps.cli.commands.app import app

pytestmark = IN_BROWSER
MODEL = """
model Decay "A tank that runs dry"
  parameter Real b(unit = "1/s") = 0.7 "rate";
  parameter Real x0 = 2 "level at the beginning";
  output Real x(start = x0, fixed = true);
equation
  der(x) = -b*x;
end Decay;
"""
PACKAGE = """package Plant
  model Leaky parameter Real b = 0.5; parameter Real x0 = 2; output Real x(start = x0, fixed = true);
  equation der(x) = -b*x; end Leaky;
  model Other Real x(start = 1, fixed = true); equation der(x) = -x; end Other;
end Plant;
"""
STUDY = """[model]
source = "Decay.mo"
[tune]
b = { start = 0.5, min = 0.1, max = 3, scale = "log" }   # the rate
x0 = { start = 1.5, min = 0.5, max = 5 }
[[case]]
name = "run 1"
data = "run1.csv"
time = "t"
outputs = { x = { column = "level", weight = 2 } }
"""
DESIGN = """[model]
source = "Decay.mo"
[tune]
b = { start = 0.5, min = 0.1, max = 3 }
""" + "".join(f'[[case]]\nname = "case {k}"\nstop = {k}\n' for k in (1, 2, 7, 7))
NARROW = 820
#: whether a number or a value with its unit stands in more than one line
BROKEN = """() => [...document.querySelectorAll("td.number, td.whole, td .est-mono, table.estimica td")]
  .filter((td) => /\\d/.test(td.innerText) && td.innerText.length <= 36)
  .filter((td) => { const r = document.createRange(); r.selectNodeContents(td);
    return new Set([...r.getClientRects()].filter((b) => b.width > 1).map((b) => Math.round(b.top / 8))).size > 1; })
  .map((td) => td.innerText)"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served")
    (folder / "Decay.mo").write_text(MODEL)
    (folder / "Plant.mo").write_text(PACKAGE)
    rows = [f"{0.25 * k},{2.1 * 2.718281828 ** (-0.2 * k) + 0.01 * (-1) ** k}" for k in range(21)]
    (folder / "run1.csv").write_text("\n".join(["t,level", *rows]))
    for name, text in (("tank.toml", STUDY), ("design.toml", DESIGN)):
        (folder / name).write_text(text)
    for bound in ("3", "0.6"):  # two runs of which the second ends at a bound
        (folder / "tank.toml").write_text(STUDY.replace("max = 3", f"max = {bound}"))
        done = CliRunner().invoke(app, ["fit", str(folder / "tank.toml"), "--quiet"])
        assert done.exit_code == 0, done.output
    (folder / "tank.toml").write_text(STUDY)
    return folder


def test_runs_are_named_and_their_differences_shown(page: Page, address: str) -> None:
    page.set_viewport_size({"width": NARROW, "height": NARROW})
    page.goto(f"{address}/study/tank.toml?at=runs")
    page.get_by_label("Rename fit 2").click()
    box = page.get_by_label("Name of the run")
    box.fill("slow leak")
    box.press("Enter")
    expect(page.get_by_role("link", name="slow leak")).to_be_visible()
    for name in ("fit 1", "slow leak"):
        page.get_by_label(f"Compare {name}").click()
    page.get_by_role("button", name="Compare ticked runs").click()
    expect(page.get_by_role("columnheader", name="slow leak − fit 1")).to_be_visible()
    row = page.get_by_role("row").filter(has=page.get_by_text("b", exact=True))
    expect(row).to_contain_text(re.compile(r"-0\.\d+ ± 0\.\d+ \(-\d"))  # by hand: 0.6 − 0.8
    expect(page.get_by_role("heading", name="Differences of curves")).to_be_visible()
    assert page.evaluate(BROKEN) == []
    page.get_by_role("link", name="slow leak").click()
    expect(page.get_by_text("slow leak", exact=True)).to_be_visible()
    page.set_viewport_size({"width": 480, "height": NARROW})
    expect(page.get_by_text("Estimates", exact=True)).to_be_visible()
    assert page.evaluate(BROKEN) == []


def test_fix_leads_to_the_field_in_the_words_of_the_page(
    page: Page, address: str, folder: Path
) -> None:
    page.set_viewport_size({"width": NARROW, "height": NARROW})
    wrong = STUDY.replace('column = "level"', 'column = "levl"').replace(
        "[tune]", "[solver]\nrtol = 2\n[tune]"
    )
    (folder / "wrong.toml").write_text(wrong)
    page.goto(f"{address}/study/wrong.toml")
    expect(page.get_by_text("Solver, rtol: 2 is wrong")).to_be_visible()
    expect(page.get_by_text("[solver]")).to_have_count(0)
    for words, label in (("Solver, rtol", "Rtol"), ("no column 'levl'", "Column of x")):
        page.goto(f"{address}/study/wrong.toml")
        line = page.locator(".row").filter(has_text=words).last
        line.get_by_role("link", name="Fix").click()
        field = page.get_by_label(label, exact=True)
        expect(field).to_be_focused()
        expect(field).to_be_in_viewport()
        expect(page.locator("[data-landed]")).to_have_count(1)


def test_ticking_twice_loses_nothing_and_classes_are_picked(
    page: Page, address: str, folder: Path
) -> None:
    (folder / "ticked.toml").write_text(STUDY)
    page.goto(f"{address}/study/ticked.toml?at=model")
    for label, there in (
        ("tune: b", lambda: tables(folder, "ticked.toml")["tune"]["b"].get("active", True)),
        ("output: x", lambda: "x" in tables(folder, "ticked.toml")["case"][0].get("outputs", {})),
    ):
        page.get_by_label(label, exact=True).click()
        until(lambda there=there: not there(), page)
        page.get_by_label(label, exact=True).click()
        until(lambda there=there: there(), page)
    box = page.get_by_label("tune: x0", exact=True)
    box.evaluate("(box) => { box.click(); box.click(); box.click(); }")  # quicker than any answer
    until(lambda: tables(folder, "ticked.toml")["tune"]["x0"].get("active") is False, page)
    expect(box).to_have_attribute("aria-checked", "false")
    now = tables(folder, "ticked.toml")
    assert now["tune"]["b"] == {"start": 0.5, "min": 0.1, "max": 3, "scale": "log"}
    assert now["case"][0]["outputs"] == {"x": {"column": "level", "weight": 2}}
    assert "# the rate" in (folder / "ticked.toml").read_text()

    page.get_by_text("Source, class and fixed values").click()
    page.get_by_text("Pick a class of the folder or of a library").click()
    for package in ("Plant.mo", "Plant"):
        page.get_by_label(f"Open {package}", exact=True).click()
    page.get_by_label("Take Plant.Leaky", exact=True).click()
    until(lambda: tables(folder, "ticked.toml")["model"].get("class") == "Plant.Leaky", page)
    assert tables(folder, "ticked.toml")["model"]["source"] == "Plant.mo"


def test_sliders_and_curves_are_in_sight_together_and_settings_run(
    page: Page, address: str, folder: Path
) -> None:
    page.set_viewport_size({"width": NARROW, "height": NARROW})
    page.goto(f"{address}/study/tank.toml?at=hand")
    figure = page.get_by_label("Measured and simulated")
    expect(page.locator(".est-figure[data-drawn]")).to_have_count(1)
    for name in ("b", "x0"):
        page.get_by_label(f"Slider of {name}").scroll_into_view_if_needed()
        expect(page.get_by_label(f"Slider of {name}")).to_be_in_viewport(ratio=1)
        expect(figure).to_be_in_viewport(ratio=0.9)
    page.get_by_role("button", name="Draw the curve of the first").click()
    page.wait_for_url(re.compile("/runs/"))
    expect(page.get_by_text("done", exact=True)).to_be_visible()
    expect(page.locator(".est-figure[data-drawn]").first).to_be_visible()

    page.goto(f"{address}/study/tank.toml?at=bootstrap")
    box = page.get_by_label("Replicates", exact=True)
    box.fill("8")
    page.get_by_role("button", name="Run Bootstrap").click()
    page.wait_for_url(re.compile("/runs/"))
    expect(page.get_by_text("done", exact=True)).to_be_visible()
    assert tables(folder, "tank.toml")["bootstrap"] == {"replicates": 8}


def test_a_run_that_cannot_be_stored_says_why(page: Page, address: str, folder: Path) -> None:
    inner = folder / "damaged"
    (inner / ".estimica").mkdir(parents=True)
    (inner / ".estimica" / "runs.sqlite").write_bytes(b"no database at all " * 100)
    for name in ("Decay.mo", "run1.csv", "tank.toml"):
        (inner / name).write_text((folder / name).read_text())
    page.goto(f"{address}/study/damaged/tank.toml")
    page.get_by_role("button", name="Residuals").click()
    lost = page.get_by_role("alert").filter(has_text="Its result is lost")
    expect(lost).to_contain_text("runs.sqlite' is not a store of runs, or a damaged one")
    expect(lost).to_contain_text("move it away")
    expect(page.get_by_text("begins …")).to_have_count(0)


def test_the_handle_goes_on_with_a_series(page: Page, address: str, folder: Path) -> None:
    page.goto(f"{address}/study/design.toml?at=case")
    cell(page, 0, 2).click()
    page.keyboard.press("Shift+ArrowDown")  # 1, 2
    handle = page.locator(".handle")
    handle.hover()
    page.mouse.down()
    cell(page, 3, 2).hover()
    page.mouse.up()
    until(lambda: [c["stop"] for c in tables(folder, "design.toml")["case"]] == [1, 2, 3, 4], page)
