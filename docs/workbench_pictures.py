"""Makes the pictures of docs/workbench.md: python docs/workbench_pictures.py (needs Chromium).

With the word `design` behind it, only those of designs; the tree of classes needs a Modelica
library on MODELICAPATH.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.apps.web.browser import CHROMIUM, FLAGS, served  # noqa: E402

from estimica.apps.cli.demo.boiler import write_demo  # noqa: E402

OUT = ROOT / "docs" / "assets" / "workbench"
#: a study that runs code
OWN = """
[model]
source = "drum.py:level"
[tune]
K = 1.0
[[case]]
name = "run 1"
data = "run1.csv"
inputs = { u = "valve" }
outputs = { y = "power" }
"""


def main() -> None:
    """Serve the demo, walk through it, and keep what is seen."""
    OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        write_demo(folder, 1)
        text = (folder / "boiler.toml").read_text(encoding="utf-8")
        (folder / "slow.toml").write_text(f"{text}starts = 2000\n", encoding="utf-8")
        (folder / "drum.py").write_text("def level(u, t, K=1.0):\n    return K * u\n")
        (folder / "own.toml").write_text(OWN, encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        page = browser.new_context(viewport={"width": 1280, "height": 860}).new_page()
        page.set_default_timeout(60_000)
        asking = {"ESTIMICA_TRUST": "", "ESTIMICA_STATE": str(folder / ".state")}
        with served(folder, env=asking) as address:
            address.let_in(page.context)
            study = f"{address}/study/boiler.toml"
            page.goto(study)
            page.get_by_text("The study is in order").wait_for()
            shot(page, "overview")
            for at, file, seen in (
                ("model", "model", "text=Gain of the drum"),
                ("case/0", "case", ".est-figure[data-drawn]"),
                ("tune", "tuners", "text=Time constant of the drum"),
            ):
                page.goto(f"{study}?at={at}")
                page.locator(seen).first.wait_for()
                page.wait_for_timeout(1500)
                shot(page, file)
            page.goto(f"{study}?at=hand")
            page.locator(".est-figure[data-drawn]").wait_for()
            page.wait_for_timeout(1500)
            shot(page, "hand")
            page.goto(f"{address}/study/slow.toml")
            page.get_by_role("button", name="Fit", exact=True).click()
            page.wait_for_url("**/runs/**")
            page.locator("[data-live=curves] .main-svg").first.wait_for()
            page.wait_for_timeout(1500)
            shot(page, "live")
            page.get_by_role("button", name="Stop").click()
            page.locator(".est-status.interrupted").wait_for()  # the page is loaded anew then
            page.goto(study)
            page.get_by_role("button", name="Fit", exact=True).click()
            page.wait_for_url("**/runs/**")
            page.get_by_text("The answer").wait_for()
            page.wait_for_timeout(1500)
            shot(page, "result")
            page.goto(f"{address}/study/own.toml")
            page.get_by_role("button", name="Agree …").click()
            page.get_by_role("dialog").get_by_label("Code").wait_for()
            page.wait_for_timeout(1000)
            shot(page, "agree")
        browser.close()


def designs() -> None:
    """The pictures of a design: the robot's axis of the examples."""
    OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        for file in ("Drive.mo", "drive.toml", "drive_limited.toml"):
            shutil.copy(ROOT / "examples" / "drive" / file, folder)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        page = browser.new_context(viewport={"width": 1280, "height": 860}).new_page()
        page.set_default_timeout(300_000)
        with served(folder) as address:
            address.let_in(page.context)
            page.goto(f"{address}/new")
            page.get_by_role("button", name="Class of a package or library").click()
            for package in ("Modelica", "Modelica.Blocks", "Modelica.Blocks.Continuous"):
                page.get_by_label(f"Open {package}", exact=True).click()
            page.get_by_label("Take Modelica.Blocks.Continuous.PI", exact=True).click()
            page.wait_for_timeout(1000)
            shot(page, "tree")
            study = f"{address}/study/drive.toml"
            for at, file in (("case", "cases"), ("criterion", "criteria")):
                page.goto(f"{study}?at={at}")
                page.locator('td[data-row="0"][data-column="3"]').click()
                page.keyboard.press("Shift+ArrowDown")
                page.wait_for_timeout(500)
                shot(page, file)
            for study in ("drive.toml", "drive_limited.toml"):
                page.goto(f"{address}/study/{study}")
                page.get_by_role("button", name="Optimise", exact=True).click()
                page.wait_for_url("**/runs/**")
                page.locator("[data-live=curves] .main-svg").first.wait_for()
                page.wait_for_timeout(1500)
                if study == "drive.toml":
                    shot(page, "design")
                page.get_by_role("button", name="Stop").click()
                page.locator(".est-status.interrupted").wait_for()
            page.goto(address)
            boxes = page.locator("[aria-label^='Compare run']")
            boxes.nth(0).click()
            boxes.nth(1).click()
            page.get_by_role("button", name="Compare ticked runs").click()
            page.locator(".est-figure[data-drawn]").first.wait_for()
            page.get_by_text("Curves, one over the other").scroll_into_view_if_needed()
            page.wait_for_timeout(2500)
            shot(page, "compare")
        browser.close()


def shot(page: Page, name: str) -> None:
    """Keep the page as it is."""
    page.screenshot(path=OUT / f"{name}.png")


if __name__ == "__main__":
    if sys.argv[1:] != ["design"]:
        main()
    designs()
