"""Noise in the states in the browser: from a fit to where noise helps, and a monitor at work."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.apps.test_monitor_command import STUDY
from tests.apps.web.browser import IN_BROWSER, Address, until
from tests.apps.web.test_static_browser import picture
from tests.infer.test_monitor import MODEL, table

from estimica.execute.runs.store import Store

pytestmark = IN_BROWSER
SEEN = 300  # samples that are there before the monitor begins


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("noise")
    (folder / "Room.mo").write_text(MODEL)
    table(SEEN).to_csv(folder / "room.csv", index=False)
    (folder / "room.toml").write_text(STUDY)
    (folder / "bare.toml").write_text(STUDY.replace('T = "s"', "T = 0.0"))
    return folder


@pytest.mark.slow
def test_from_a_fit_to_where_noise_helps(page: Page, address: Address, folder: Path) -> None:
    page.goto(f"{address}/study/bare.toml")
    page.get_by_role("button", name="Fit", exact=True).first.click()
    expect(page.get_by_role("button", name="Use these values")).to_be_visible()
    fitted = page.url
    page.get_by_role("button", name="Find noise", exact=True).click()
    page.wait_for_url(lambda url: str(url) != fitted)
    expect(page.get_by_text("noise in T helps most").first).to_be_visible()
    picture(page, "find_noise")
    for command, word in (("states", "States"), ("predict", "Predict"), ("forecast", "Forecast")):
        page.goto(f"{address}/study/room.toml")
        before = page.url
        page.get_by_role("button", name=word, exact=True).first.click()
        page.wait_for_url(lambda url, before=before: str(url) != before)
        expect(
            page.get_by_role("heading", name="What was asked")
            .or_(page.get_by_text("What was asked"))
            .first
        ).to_be_visible()
        picture(page, command)
        assert str(Store.beside(folder).runs(1, command)[0].status) == "done"


def test_a_monitor_is_watched_while_its_file_grows(
    page: Page, address: Address, folder: Path
) -> None:
    page.goto(f"{address}/study/room.toml")
    page.get_by_role("button", name="Monitor", exact=True).first.click()
    expect(page.get_by_text(f"{SEEN} samples taken in")).to_be_visible()
    expect(page.locator('[data-live="alarms"]')).to_contain_text("No changes so far")
    value = page.locator('[data-value="R"]')
    begun = float(value.inner_text())
    assert begun == pytest.approx(0.01, rel=0.05)
    changed = table(900, R=lambda k: 0.01 if k < SEEN else 0.013)
    rows = changed.iloc[SEEN:].to_csv(index=False, header=False)
    with (folder / "room.csv").open("a", encoding="utf-8") as file:
        file.write(rows)
    alarms = page.locator('[data-live="alarms"] tbody tr')
    expect(alarms.first).to_be_visible()
    expect(page.get_by_text("900 samples taken in")).to_be_visible()
    until(lambda: float(value.inner_text()) > 1.02 * begun, page)
    expect(page.locator('[data-live="courses"] .main-svg').first).to_be_visible()
    picture(page, "monitor_live")
    page.get_by_role("button", name="Stop and keep the best so far").click()
    expect(page.get_by_text("What came").first).to_be_visible()
    picture(page, "monitor")
    assert str(Store.beside(folder).runs(1, "monitor")[0].status) == "done"
