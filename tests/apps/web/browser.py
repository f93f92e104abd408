"""A workbench in a process of its own and a browser before it, for tests."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Locator, Page

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
SLOW = 120_000  # ms: models are compiled while other tests run
#: of a module whose tests need a browser
IN_BROWSER = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _plain() -> dict[str, str]:
    """This environment without the mark of pytest, which NiceGUI takes for a test of its own."""
    return {k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"}


class Address(str):
    """Where a server is reached, without its token, and what its terminal shows."""

    said: list[str]

    @property
    def entry(self) -> str:
        """The address that was printed, with its token."""
        found = re.search(r"http://\S+", "".join(self.said))
        assert found, self.said
        return found[0]

    def let_in(self, context: BrowserContext) -> None:
        """Open the printed address once, as the user does: the browser has a cookie then."""
        page = context.new_page()
        page.goto(self.entry)
        page.locator(".est-title").wait_for()
        page.close()

    def code(self, wait: float = 20.0) -> str:
        """The code of the newest question at the terminal; each is told once."""
        end = time.monotonic() + wait
        while time.monotonic() < end:
            for k, line in reversed(list(enumerate(self.said))):
                found = re.search(r"type this code there within .*:  (\w{3}-\w{3})$", line.rstrip())
                if found:
                    del self.said[k]
                    return found[1]
            time.sleep(0.05)
        raise AssertionError(f"no code was printed: {''.join(self.said)}")


@contextmanager
def served(folder: Path, *options: str, env: dict[str, str] | None = None) -> Iterator[Address]:
    """`estimica serve` on a folder; the address of its start page."""
    port = free_port()
    command = [sys.executable, "-m", "estimica", "serve", str(folder), "--no-open"]
    process = subprocess.Popen(
        [*command, "--port", str(port), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**_plain(), **(env or {})},
    )
    address = Address(f"http://127.0.0.1:{port}")
    address.said = []
    assert process.stdout
    stream = process.stdout
    reader = threading.Thread(
        target=lambda: [address.said.append(line) for line in stream], daemon=True
    )
    reader.start()
    try:
        for _ in range(1200):
            if process.poll() is not None:
                reader.join(2.0)
                pytest.fail(f"the server ended at once: {''.join(address.said)}")
            try:
                socket.create_connection(("127.0.0.1", port), 2).close()
                break
            except OSError:
                time.sleep(0.1)
        yield address
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        reader.join(2.0)
        stream.close()


def choose(page: Page, label: str, text: str) -> None:
    """Choose out of a list that can be typed into."""
    box = page.get_by_label(label, exact=True)
    box.click()
    box.fill(text)
    page.get_by_role("option", name=text, exact=True).first.click()
    page.keyboard.press("Escape")


def cell(page: Page, row: int, column: int) -> Locator:
    """A cell of a table that is filled like a spreadsheet."""
    return page.locator(f'td[data-row="{row}"][data-column="{column}"]')


def put(page: Page, row: int, column: int, text: str, shown: str = "") -> None:
    """Type into a cell, as one does."""
    from playwright.sync_api import expect

    cell(page, row, column).click()
    page.keyboard.type(text)
    page.keyboard.press("Enter")
    expect(cell(page, row, column)).to_contain_text(shown or text)


def until(wanted: Callable[[], bool], page: Page) -> None:
    """Wait for what a page writes into a file."""
    for _ in range(200):
        if wanted():
            return
        page.wait_for_timeout(50)
    raise AssertionError("what was typed did not come to the study file")


def tables(folder: Path, study: str) -> dict[str, Any]:
    """A study file as it is now."""
    return tomllib.loads((folder / study).read_text(encoding="utf-8"))
