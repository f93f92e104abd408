"""Families of curves in a real browser: the band, and single runs by whether the demands hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.apps.web.browser import IN_BROWSER

pytestmark = IN_BROWSER
STUDY = """
[model]
source = "30/(s^2 + d*s + 30)"

[tune]
d = { start = 6, min = 2, max = 12 }

[[case]]
name = "step"
stop = 3
inputs = { u = 1.0 }

[[criterion]]
name = "overshoot"
kind = "overshoot"
of = "y"
reference = 1.0
demand = 0.15

[sweep]
vary = { d = [3, 6, 9] }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served")
    (folder / "servo.toml").write_text(STUDY)
    return folder


def test_a_sweep_draws_its_band_and_its_runs(page: Page, address: str, tmp_path: Path) -> None:
    page.goto(f"{address}/study/servo.toml?at=sweep")
    page.get_by_role("button", name="Sweep", exact=True).click()
    page.wait_for_url(re.compile("/runs/"))
    expect(page.get_by_text("done", exact=True)).to_be_visible()
    page.get_by_text("Families of curves", exact=True).first.scroll_into_view_if_needed()
    figure = page.locator(".est-figure[data-drawn]").filter(
        has_text="from the lowest to the highest run"
    )
    expect(figure).to_have_count(1)
    # overshoots exp(-πζ/√(1-ζ²)) of d = 3, 6, 9: 40 %, 13 %, 1.1 %; one of them is not allowed
    for word in ("demands hold", "demands do not hold", "median"):
        expect(figure.get_by_text(word, exact=True).first).to_be_visible()
    page.screenshot(path=tmp_path / "families.png", full_page=True)
