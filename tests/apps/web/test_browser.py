"""The workbench in a real browser: from a model and a table to a fit and its report."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from tests.apps.web.browser import CHROMIUM, FLAGS, served

from estimica.apps.cli.demo.boiler_data import write_boiler

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
SLOW = 120_000  # ms: models are compiled while other tests run
expect.set_options(timeout=SLOW)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served")
    write_boiler(folder, 1)
    (folder / "boiler.toml").rename(folder / "ready.toml")
    return folder


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    with served(folder) as address:
        yield address


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page of 1280 px that fails the test where its console tells of an error."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(SLOW)
    wrong: list[str] = []
    page.on("console", lambda m: wrong.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda e: wrong.append(str(e)))
    yield page
    context.close()
    assert not wrong, wrong


def estimica(*arguments: object) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "estimica", *map(str, arguments), "--json"],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def choose(page: Page, label: str, text: str) -> None:
    """Choose out of a list that can be typed into."""
    box = page.get_by_label(label, exact=True)
    box.click()
    box.fill(text)
    page.get_by_role("option", name=text, exact=True).first.click()
    page.keyboard.press("Escape")


def test_from_model_and_table_to_report(page: Page, address: str, folder: Path) -> None:
    page.goto(address)
    page.get_by_role("button", name="New study").click()
    choose(page, "Model of the folder", "DrumBoiler.mo")
    choose(page, "Data files, one for each case", "run1.csv")
    page.get_by_label("Name of the study").fill("made")
    page.get_by_role("button", name="Propose a study").click()
    page.wait_for_url(re.compile("/study/made.toml"))
    study = folder / "made.toml"
    assert tomllib.loads(study.read_text())["model"]["source"] == "DrumBoiler.mo"

    # the mapping: time is found by itself, columns have other names than variables
    page.goto(f"{address}/study/made.toml?at=case/0")
    expect(page.locator(".est-figure[data-drawn]")).to_have_count(1)
    case = tomllib.loads(study.read_text())["case"][0]
    for kind, names in (
        ("input", {"uc": "valve", "fc": "fuel"}),
        ("output", {"E": "power", "P": "pressure"}),
    ):
        for name, column in names.items():
            if name not in case.get(f"{kind}s", {}):
                choose(page, f"Add an {kind}", name)
            choose(page, f"Column of {name}", column)
    # the tuners
    page.goto(f"{address}/study/made.toml?at=tune")
    wanted = {"T_D": (250, 10, 500), "T_R": (30, 1, 100), "A4": (0.5, 0, 1)}
    for name in ("w_E", "w_P", "x10", "x20", *wanted):
        if page.get_by_label(f"start of {name}", exact=True).count() == 0:
            choose(page, "Add a tuner", name)
            page.get_by_role("button", name="Add", exact=True).click()
            expect(page.get_by_label(f"start of {name}", exact=True)).to_be_visible()
    for name, numbers in wanted.items():
        for field, value in zip(("start", "min", "max"), numbers, strict=True):
            box = page.get_by_label(f"{field} of {name}", exact=True)
            box.fill(str(value))
            box.press("Enter")
    page.goto(f"{address}/study/made.toml")
    expect(page.get_by_text("The study is in order")).to_be_visible()

    page.get_by_role("button", name="Fit", exact=True).click()
    page.wait_for_url(re.compile("/runs/"))
    expect(page.get_by_text("done", exact=True)).to_be_visible()
    expect(page.locator(".est-figure[data-drawn]").first).to_be_visible()
    run = page.url.rpartition("/")[2]
    with page.expect_download() as download:
        page.get_by_role("button", name="Report").click()
    report = Path(download.value.path()).read_text(encoding="utf-8")
    assert "T_D" in report
    assert "<!doctype html>" in report[:200].lower()

    # the file is what the command line takes, and gives the same
    stored = estimica("runs", "show", run, "--store", folder / ".estimica" / "runs.sqlite")
    again = estimica("fit", study, "--no-store")
    assert again["outcome"]["status"] == "converged"
    for name, entry in again["parameters"].items():
        assert stored["result"]["parameters"][name]["value"] == entry["value"]


def test_invalid_bound_is_told_at_its_field(page: Page, address: str) -> None:
    page.goto(f"{address}/study/ready.toml?at=tune/T_D")
    box = page.get_by_label("Min", exact=True)
    box.fill("600")
    box.press("Enter")
    expect(page.get_by_text("min 600 is above max 500", exact=False).first).to_be_visible()
    box.fill("ten")
    box.press("Enter")
    expect(page.get_by_text("'ten' is no number")).to_be_visible()
    box.fill("10")
    box.press("Enter")
    expect(page.get_by_text("min 600")).to_have_count(0)
