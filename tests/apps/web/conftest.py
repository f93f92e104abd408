"""What tests in a real browser share: the browser, a server on the module's `folder`, a page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.apps.web.browser import CHROMIUM, FLAGS, SLOW, Address, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=SLOW)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[Address]:
    """A server on the folder; what this user trusts already does not count."""
    with served(
        folder, env={"ESTIMICA_TRUST": "", "ESTIMICA_STATE": str(folder / ".state")}
    ) as address:
        yield address


@pytest.fixture
def page(browser: Browser, address: Address) -> Iterator[Page]:
    """A page of 1280 px that fails the test where its console tells of an error."""
    context = browser.new_context(
        viewport={"width": 1280, "height": 900}, permissions=["clipboard-read", "clipboard-write"]
    )
    address.let_in(context)
    page = context.new_page()
    page.set_default_timeout(SLOW)
    wrong: list[str] = []
    page.on("console", lambda m: wrong.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda e: wrong.append(str(e)))
    yield page
    context.close()
    assert not wrong, wrong
