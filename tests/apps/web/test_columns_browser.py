"""Columns in the browser: a chosen column fills its unit, and findings are fixed at one click."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from tests.apps.web.browser import IN_BROWSER, Address, choose, tables, until
from tests.study.tank import TANK

pytestmark = IN_BROWSER

HEAD = """\
[model]
source = "Tank.mo"

[tune]
a = { start = 0.4, min = 0, max = 5 }
b = 1.5
"""
MAPPED = """
[columns]
u = "current"   # the pump
y = { column = "level", sigma = 0.1 }

[[case]]
name = "first"
data = "run1.csv"

[[case]]
name = "odd"
data = "odd.csv"
"""
PLAIN = """
[[case]]
name = "first"
data = "run1.csv"
inputs = { u = "current" }
outputs = { y = "level" }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("columns")
    (folder / "Tank.mo").write_text(TANK)
    t = np.arange(0.0, 10.5, 0.5)
    x = 4 - 3 * np.exp(-0.5 * t)
    rows = [f"{a:g},1,{b:.6f},{27 + b:.6f},{100 * b:.4f}" for a, b in zip(t, x, strict=True)]
    names = "t [s],current [A],level [m],temp [degC],height [cm]"
    (folder / "run1.csv").write_text("\n".join([names, *rows]) + "\n")
    (folder / "odd.csv").write_text("\n".join([names.replace("level", "lvel"), *rows]) + "\n")
    wrong = names.replace("level [m]", "level [bar]")
    (folder / "bar.csv").write_text("\n".join([wrong, *rows]) + "\n")
    (folder / "plain.toml").write_text(HEAD + PLAIN)
    (folder / "mapped.toml").write_text(HEAD + MAPPED)
    (folder / "bar.toml").write_text(HEAD + PLAIN.replace("run1.csv", "bar.csv"))
    return folder


def test_a_chosen_column_fills_its_unit(page: Page, address: Address, folder: Path) -> None:
    page.goto(f"{address}/study/plain.toml?at=case/0")
    choose(page, "Add an output", "T")
    choose(page, "Column of T", "temp")
    expect(page.get_by_text("in degC, converted to K: offset = 273.15")).to_be_visible()
    until(
        lambda: (
            tables(folder, "plain.toml")["case"][0]["outputs"].get("T")
            == {"column": "temp", "unit": "degC"}
        ),
        page,
    )
    choose(page, "Column of y", "height")
    expect(page.get_by_text("in cm, converted to m: scale = 0.01")).to_be_visible()
    page.goto(f"{address}/study/plain.toml")
    expect(
        page.get_by_text("it can run").or_(page.get_by_text("is converted from cm"))
    ).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    until(lambda: tables(folder, "plain.toml")["case"][0]["outputs"]["y"] == "level", page)


def test_a_missing_column_is_fixed_at_a_click(page: Page, address: Address, folder: Path) -> None:
    """From the overview for one case, then taken back, then on the page of the case."""
    before = (folder / "mapped.toml").read_text()
    page.goto(f"{address}/study/mapped.toml")
    expect(page.get_by_text("no column 'level' in 'odd.csv'")).to_be_visible()
    page.get_by_role("button", name="Take column lvel in this case").click()
    expect(page.get_by_text("The study is in order")).to_be_visible()
    made = tables(folder, "mapped.toml")
    assert made["case"][1]["outputs"] == {"y": {"column": "lvel", "sigma": 0.1}}
    assert "# the pump" in (folder / "mapped.toml").read_text()
    with page.expect_navigation():
        page.get_by_role("button", name="Undo").click()
    until(lambda: (folder / "mapped.toml").read_text() == before, page)
    page.goto(f"{address}/study/mapped.toml?at=case/1")
    expect(page.get_by_text("as in all cases")).to_have_count(2)
    page.get_by_role("button", name="Leave it out in this case").click()
    until(lambda: tables(folder, "mapped.toml")["case"][1].get("without") == ["y"], page)
    page.goto(f"{address}/study/mapped.toml?at=case/1")
    expect(page.get_by_text("left out here")).to_be_visible()
    page.get_by_role("button", name="Take it again: y").click()
    until(lambda: "without" not in tables(folder, "mapped.toml")["case"][1], page)


def test_a_wrong_unit_is_fixed_at_a_click(page: Page, address: Address, folder: Path) -> None:
    page.goto(f"{address}/study/bar.toml")
    expect(page.get_by_text("which measures something else")).to_be_visible()
    page.get_by_role("button", name="Take it as m").click()
    expect(page.get_by_text("to fix before it can run")).to_have_count(0)
    until(
        lambda: (
            tables(folder, "bar.toml")["case"][0]["outputs"]["y"]
            == {"column": "level", "unit": "m"}
        ),
        page,
    )


def test_the_page_of_the_columns_of_all_cases(page: Page, address: Address, folder: Path) -> None:
    page.goto(f"{address}/study/mapped.toml?at=columns")
    choose(page, "Add an input, output or time", "T")
    choose(page, "Column of T", "temp")
    expect(page.get_by_text("in degC, converted to K: offset = 273.15")).to_be_visible()
    until(
        lambda: (
            tables(folder, "mapped.toml")["columns"].get("T") == {"column": "temp", "unit": "degC"}
        ),
        page,
    )
    page.get_by_role("button", name="Remove T").click()
    until(lambda: "T" not in tables(folder, "mapped.toml")["columns"], page)
