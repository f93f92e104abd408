"""A workbench in a process of its own and a browser before it, for tests."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
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


@contextmanager
def served(folder: Path, *options: str, env: dict[str, str] | None = None) -> Iterator[str]:
    """`estimica serve` on a folder; the address of its start page."""
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "estimica",
        "serve",
        str(folder),
        "--no-open",
        "--port",
        str(port),
    ]
    process = subprocess.Popen(
        [*command, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**_plain(), **(env or {})},
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            if process.poll() is not None:
                assert process.stdout
                pytest.fail(f"the server ended at once: {process.stdout.read()}")
            try:
                urllib.request.urlopen(f"{address}/assets/estimica.css", timeout=2).close()
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
        assert process.stdout
        process.stdout.close()
