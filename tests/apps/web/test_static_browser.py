"""Static calibration in the browser: a relation left out, two tables, weights, pages of points."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.apps.web.browser import IN_BROWSER, SLOW, Address, choose

pytestmark = IN_BROWSER

PUMP = """
model Pump
  Real phi;
  Real w(unit = "rad/s");
  Real V(unit = "m3/s");
  Real head(unit = "m");
  Real P(unit = "W");
  parameter Real h0 "No value";
  parameter Real k = 100;
equation
  w = der(phi);
  head = w^2*h0 - k*V^2;
  P = 9000*V*head;
end Pump;
"""
STUDY = """
[model]
source = "Pump.mo"
[static]
against = "V"
by = "w"
[tune]
h0 = 50
k = 150
[[case]]
name = "heads"
data = "heads.csv"
inputs = { V = "V", w = "w", phi = 0 }
outputs = { head = "head" }
[[case]]
name = "power"
data = "power.csv"
inputs = { V = "V", w = 1, phi = 0 }
outputs = { P = { column = "P", weight = 1e-4 } }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("static")
    (folder / "Pump.mo").write_text(PUMP)
    (folder / "pump.toml").write_text(STUDY)
    points = [(w, V, w**2 * 80 - 200 * V**2) for w in (0.8, 1.0) for V in (0.1, 0.2, 0.3, 0.4)]
    rows = [f"{w},{V},{head}" for w, V, head in points]
    (folder / "heads.csv").write_text("\n".join(["w,V,head", *rows]))
    power = [f"{V},{9000 * V * head}" for w, V, head in points if w == 1.0]
    (folder / "power.csv").write_text("\n".join(["V,P", *power]))
    return folder


def picture(page: Page, name: str) -> None:
    """Keep a picture of the page where somebody wants to look at it."""
    folder = os.environ.get("ESTIMICA_PICTURES")
    if folder:
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


def test_an_equation_is_left_out_and_the_points_are_fitted_and_drawn(
    page: Page, address: Address, folder: Path
) -> None:
    page.goto(f"{address}/study/pump.toml?at=model")
    page.get_by_text("Source, class and fixed values").click()
    box = page.get_by_label("Leave out", exact=False).first
    box.click()
    box.fill("der(")  # a search in the equations, of a class that is not complete yet
    option = page.get_by_role("option")
    expect(option).to_have_count(1)
    expect(option).to_have_text("w = der(phi)")
    picture(page, "leave_out")
    option.click()
    page.keyboard.press("Escape")
    expect(page.get_by_text("left out: w = der(phi)")).to_be_visible()
    written = tomllib.loads((folder / "pump.toml").read_text())["model"]["leave_out"]
    assert written in ("w = der(phi)", ["w = der(phi)"])

    page.goto(f"{address}/study/pump.toml")
    page.get_by_role("button", name="Fit", exact=True).click()
    page.wait_for_url(re.compile("/runs/"))
    expect(page.get_by_text("done", exact=True)).to_be_visible()
    for heading in ("Measured and simulated", "Point by point", "Residuals of the last iterations"):
        expect(page.get_by_text(heading, exact=True).first).to_be_visible()
    expect(page.locator(".est-figure[data-drawn]").first).to_be_visible()
    picture(page, "pump_fit")


@pytest.mark.msl
def test_a_valve_of_the_library_from_its_class_to_its_fit(
    page: Page, address: Address, folder: Path
) -> None:
    drops = [(dp, opening) for opening in (0.4, 1.0) for dp in (1e4, 2e4, 5e4, 1e5)]
    rows = [f"{dp},{opening},{3e-5 * opening * dp}" for dp, opening in drops]
    (folder / "bench.csv").write_text("\n".join(["dp,opening,m_flow", *rows]))
    rows = [f"{dp},{3e-5 * dp}" for dp in (1e4, 3e4, 9e4)]  # at the plant it is always open
    (folder / "plant.csv").write_text("\n".join(["dp,m_flow", *rows]))

    page.goto(f"{address}/new")
    page.get_by_role("button", name="Class of a package or library").click()
    for package in ("Modelica", "Modelica.Fluid", "Modelica.Fluid.Valves"):
        page.get_by_label(f"Open {package}", exact=True).click()
    page.get_by_label("Take Modelica.Fluid.Valves.ValveLinear", exact=True).click()
    for file in ("bench.csv", "plant.csv"):
        choose(page, "Data files, one for each case", file)
    page.get_by_role("button", name="Propose a study").click()
    expect(page.get_by_text("redeclare the package, as in")).to_be_visible()  # its medium is open
    page.get_by_label("Modification of the class, where it needs one").fill(
        "redeclare package Medium = Modelica.Media.Water.ConstantPropertyLiquidWater, "
        "dp_nominal = 1e5"
    )
    picture(page, "valve_new")
    page.get_by_role("button", name="Propose a study").click()
    page.wait_for_url(re.compile("/study/valvelinear.toml"))
    drafted = tomllib.loads((folder / "valvelinear.toml").read_text())
    # dp_nominal has an effect, too, but only their ratio is determined: it is held
    assert set(drafted["tune"]) == {"m_flow_nominal"}
    assert "# dp_nominal = " in (folder / "valvelinear.toml").read_text()
    first, second = drafted["case"]
    assert (first["inputs"]["dp"], first["inputs"]["opening"]) == ("dp", "opening")
    assert "opening" not in second["inputs"]  # nobody knows it but the user

    page.goto(f"{address}/study/valvelinear.toml?at=case/1")
    choose(page, "Add an input", "opening")
    box = page.get_by_label("Column of opening", exact=True)
    box.click()
    box.fill("1")
    box.press("Enter")
    until(page, lambda: _case(folder, 1)["inputs"].get("opening"), 1.0)
    page.wait_for_timeout(1000)  # the tables are drawn anew with what was written
    line = page.locator("tr", has=page.get_by_label("Column of m_flow", exact=True))
    line.get_by_text("Details").click()
    weight = line.get_by_label("Weight", exact=True)
    weight.fill("2")
    weight.press("Enter")
    until(
        page, lambda: _case(folder, 1).get("outputs"), {"m_flow": {"column": "m_flow", "weight": 2}}
    )
    picture(page, "valve_case")

    page.goto(f"{address}/study/valvelinear.toml")
    page.get_by_role("button", name="Fit", exact=True).click()
    page.wait_for_url(re.compile("/runs/"))
    expect(page.get_by_text("done", exact=True)).to_be_visible()
    expect(page.get_by_text("Measured and simulated", exact=True).first).to_be_visible()
    expect(page.locator(".est-figure[data-drawn]").first).to_be_visible()
    expect(page.get_by_text("m_flow_nominal = 3 kg/s")).to_be_visible()
    picture(page, "valve_fit")


def _case(folder: Path, k: int) -> dict[str, Any]:
    case: dict[str, Any] = tomllib.loads((folder / "valvelinear.toml").read_text())["case"][k]
    return case


def until(page: Page, look: Callable[[], object], wanted: object) -> None:
    """Wait for what the page writes into the study."""
    for _ in range(SLOW // 100):
        if look() == wanted:
            return
        page.wait_for_timeout(100)
    assert look() == wanted
