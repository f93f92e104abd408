"""Pages in a real browser: figures are drawn, nothing is fetched, nothing complains."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from estimica.base.view import Curve, Curves, Page, Panel, Section, Table
from estimica.report.html import write_html

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine"),
]
DRAWN = "document.documentElement.dataset.ready === 'yes'"
PATIENCE = 90_000  # ms; the machine may be busy


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a million samples with six figures."""
    time = np.linspace(0.0, 1e5, 1_000_000)
    y = np.sin(time / 1e3)
    y[654_321] = 4.0
    panels = (Panel("y [m]", (Curve("measured", time, y, dotted=True), Curve("s", time, y))),)
    table = Table(("name", "value"), (("K", 2.0), ("tau", 3.5)))
    sections = [Section(f"Section {k}", "Text.", (Curves(panels), table)) for k in range(6)]
    page = Page("A million samples", tuple(sections))
    return write_html(page, tmp_path_factory.mktemp("browser") / "page.html")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as p:
        opened = p.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


def opened(browser: Any, path: Path, script: str = "", **options: Any) -> tuple[Any, list[str]]:
    page = browser.new_page(**options)
    told: list[str] = []
    page.on("console", lambda m: told.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda e: told.append(str(e)))
    page.on("request", lambda r: told.append(r.url) if "page.html" not in r.url else None)
    if script:
        page.add_init_script(script)
    page.goto(path.as_uri())
    return page, told


def test_figures_are_drawn_from_disk_without_any_request_or_complaint(
    browser: Any, path: Path
) -> None:
    page, told = opened(browser, path)
    page.wait_for_function(DRAWN, timeout=PATIENCE)
    assert page.locator("figure.plot .main-svg").count() >= 6
    highest = page.evaluate("Math.max(...document.querySelector('#figure-1')._fullData[1].y)")
    assert highest == 4.0
    assert not told


@pytest.mark.slow
def test_dark_pages_have_dark_figures_and_print_light(browser: Any, path: Path) -> None:
    page, told = opened(browser, path, color_scheme="dark")
    page.wait_for_function(DRAWN, timeout=PATIENCE)
    ink = "document.querySelector('#figure-1')._fullLayout.font.color"
    assert page.evaluate(ink).lower() > "#a"
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(ink) == "#24313C"
    assert page.evaluate("document.querySelector('#figure-1')._fullLayout.width") == 690
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(ink).lower() > "#a"
    assert not told


@pytest.mark.slow
def test_narrow_screens_show_everything_without_scrolling_sideways(
    browser: Any, path: Path
) -> None:
    page, _ = opened(browser, path, viewport={"width": 390, "height": 800})
    page.wait_for_function(DRAWN, timeout=PATIENCE)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.slow
def test_an_old_browser_is_told_why_there_are_no_figures(browser: Any, path: Path) -> None:
    page, told = opened(browser, path, "delete window.DecompressionStream")
    page.wait_for_selector(".trouble", timeout=PATIENCE)
    assert "too old to draw the figures" in page.locator(".trouble").first.text_content()
    assert not told


def test_tables_are_copied_for_spreadsheets(browser: Any, path: Path) -> None:
    page, _ = opened(browser, path)
    page.evaluate(
        "Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (t) => "
        "{ window.copied = t; } } })"
    )
    page.locator("button.copy").first.click()
    page.wait_for_function("window.copied", timeout=PATIENCE)
    assert page.evaluate("window.copied") == "name\tvalue\nK\t2\ntau\t3.5"
