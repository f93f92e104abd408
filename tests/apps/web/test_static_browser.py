"""Static calibration in the browser: a relation left out, two tables, weights, pages of points."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from tests.apps.web.browser import CHROMIUM, FLAGS, Address, served

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

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
SLOW = 120_000  # ms: models are compiled while other tests run
expect.set_options(timeout=SLOW)


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


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[Address]:
    with served(folder, env={"ESTIMICA_STATE": str(folder / ".state")}) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser, address: Address) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    address.let_in(context)
    page = context.new_page()
    page.set_default_timeout(SLOW)
    yield page
    context.close()


def test_an_equation_is_left_out_and_the_points_are_fitted_and_drawn(
    page: Page, address: Address, folder: Path
) -> None:
    page.goto(f"{address}/study/pump.toml?at=model")
    page.get_by_text("Source, class and fixed values").click()
    box = page.get_by_label("Leave out", exact=False).first
    box.click()
    box.fill("w = der(phi)")
    box.press("Enter")
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
