"""A proposed study in the browser: what could make its fit wrong stands on the overview first."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.apps.web.browser import IN_BROWSER, Address, choose
from tests.study.test_draft_units import motor

pytestmark = IN_BROWSER


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("proposed")
    motor("t [s],u [V],n,i [A]", folder)
    return folder


def test_what_is_not_used_is_told_until_it_was_seen(page: Page, address: Address) -> None:
    page.goto(f"{address}/new")
    choose(page, "Model of the folder", "Motor.mo")
    choose(page, "Data files, one for each case", "motor.csv")
    page.get_by_role("button", name="Propose a study").click()
    page.wait_for_url(re.compile("/study/motor.toml"))
    expect(page.get_by_text("Look at this first")).to_be_visible()
    unused = page.get_by_text("column 'n' is not used: could it be 'w' [rad/s]?")
    expect(unused).to_be_visible()
    expect(page.get_by_text("'b' = 0.0001 is held")).to_be_visible()
    page.get_by_role("link", name="Columns of the cases").click()
    page.wait_for_url(re.compile("at=case"))
    page.go_back()
    page.get_by_role("button", name="I have seen it").click()
    expect(unused).to_have_count(0)
    page.reload()
    expect(page.get_by_role("button", name="Fit", exact=True).first).to_be_visible()
    expect(unused).to_have_count(0)
