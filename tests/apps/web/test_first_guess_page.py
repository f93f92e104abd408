"""First guesses in a real browser: a step and a Bode plot of the folder, with their lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page, expect
from tests.apps.web.browser import IN_BROWSER, Address

pytestmark = IN_BROWSER


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served")
    t = np.linspace(0, 30, 601)
    u = np.where(t >= 2, 3.0, 1.0)
    y = 5 + 4 * -np.expm1(-np.maximum(t - 2.5, 0) / 3)
    noise = 0.05 * np.random.default_rng(1).standard_normal(601)
    step = pd.DataFrame({"time": t, "u": u, "y": y + noise, "calm": np.ones(601)})
    step.to_csv(folder / "step.csv", index=False)
    w = np.geomspace(0.01, 10, 40)
    g = 2 * np.exp(-0.5j * w) / (1 + 3j * w)
    response = pd.DataFrame({"frequency": w / (2 * np.pi), "real": g.real, "imag": g.imag})
    response.to_csv(folder / "bode.csv", index=False)
    return folder


def test_first_guesses_are_read_off_files_of_the_folder(
    page: Page, address: Address, tmp_path: Path
) -> None:
    page.goto(address)
    page.get_by_role("button", name="First guesses").click()
    page.wait_for_url("**/guess")

    def choose(label: str, text: str) -> None:
        box = page.get_by_label(label, exact=True)
        box.click()
        box.fill(text)
        page.get_by_role("option", name=text, exact=True).first.click()
        page.keyboard.press("Escape")

    choose("Data file", "step.csv")
    choose("Column that steps", "u")
    choose("Column that answers", "y")
    page.get_by_role("button", name="Read off").click()
    expect(page.get_by_text("a step of u suggests for y: gain 2")).to_be_visible()
    expect(page.locator(".est-figure[data-drawn]")).to_have_count(1)
    for line in ("63 % after delay", "tangent: τ", "final value"):
        expect(page.locator(".est-figure").get_by_text(line).first).to_be_visible()
    page.screenshot(path=tmp_path / "step.png", full_page=True)

    # a column that does not step is refused in words, and the page goes on
    choose("Column that steps", "calm")
    page.get_by_role("button", name="Read off").click()
    expect(page.locator(".est-bad")).to_contain_text("calm")

    choose("Data file", "bode.csv")
    expect(page.get_by_text("This is a frequency response")).to_be_visible()
    expect(page.get_by_text("the Bode plot suggests: gain 2, time constant 3 s")).to_be_visible()
    expect(page.locator(".est-figure").get_by_text("−20 dB a decade").first).to_be_visible()
    page.screenshot(path=tmp_path / "bode.png", full_page=True)
