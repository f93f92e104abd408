"""Results carry on in the browser: a fit into its study, an optimum into a Monte Carlo."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.apps.test_carry import DESIGN, GROWTH, OSCILLATOR
from tests.apps.web.browser import IN_BROWSER, Address
from tests.apps.web.test_static_browser import picture

from estimica.execute.runs.store import Store

pytestmark = IN_BROWSER


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("carry")
    rows = [f"{x},{240 * (1 - 2.718281828459045 ** (-5e-4 * x))}" for x in range(100, 8000, 400)]
    (folder / "points.csv").write_text("\n".join(["x,y", *rows]))
    (folder / "growth.toml").write_text(GROWTH)
    (folder / "Oscillator.mo").write_text(OSCILLATOR)
    (folder / "design.toml").write_text(DESIGN)
    return folder


def start_of(folder: Path, study: str, tuner: str) -> float:
    tables = tomllib.loads((folder / f"{study}.toml").read_text(encoding="utf-8"))
    return float(tables["tune"][tuner]["start"])


def test_a_fit_is_used_and_taken_back(page: Page, address: Address, folder: Path) -> None:
    page.goto(f"{address}/study/growth.toml")
    page.get_by_role("button", name="Fit", exact=True).first.click()
    use = page.get_by_role("button", name="Use these values")
    use.click()
    expect(page.get_by_text("The study has these values now: b1: 500 → 240")).to_be_visible()
    picture(page, "use_values")
    assert start_of(folder, "growth", "b1") == pytest.approx(240, rel=1e-3)
    assert "# the plateau" in (folder / "growth.toml").read_text(encoding="utf-8")
    page.get_by_role("button", name="Close").first.click()
    with page.expect_event("framenavigated"):  # the page loads anew once the study is as it was
        page.get_by_role("button", name="Undo").click()
    for _ in range(100):
        if (folder / "growth.toml").read_text(encoding="utf-8") == GROWTH:
            break
        page.wait_for_timeout(100)
    assert (folder / "growth.toml").read_text(encoding="utf-8") == GROWTH
    fitted = Store.beside(folder).runs(1, "fit")[0].id
    page.wait_for_load_state()  # it would not see a click before
    page.get_by_role("button", name="Residuals", exact=True).click()
    expect(page.get_by_text("Began with the values of")).to_be_visible()
    expect(page.get_by_role("link", name=f"run {fitted}")).to_be_visible()


@pytest.mark.slow
def test_a_monte_carlo_after_an_optimum_is_of_the_optimum(
    page: Page, address: Address, folder: Path
) -> None:
    page.goto(f"{address}/study/design.toml")
    page.get_by_role("button", name="Optimise", exact=True).first.click()
    expect(page.get_by_role("button", name="Use these values")).to_be_visible()
    optimised = page.url
    page.get_by_role("button", name="Monte Carlo", exact=True).click()
    page.wait_for_url(lambda url: str(url) != optimised)
    expect(page.get_by_text("Began with the values of")).to_be_visible()
    picture(page, "montecarlo_after_optimise")
    store = Store.beside(folder)
    optimum = store.run(store.runs(1, "optimise")[0].id)
    drawn = store.run(store.runs(1, "montecarlo")[0].id)
    assert drawn.settings["fit"] == optimum.id
    d = optimum.result["tuners"]["d"]["value"]
    assert d > 0.6
    samples = drawn.result["samples"]["d"]
    assert sum(samples) / len(samples) == pytest.approx(d, abs=0.02)
    assert start_of(folder, "design", "d") == 0.2  # the study itself was not changed
