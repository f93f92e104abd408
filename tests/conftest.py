"""What all tests share: the reference cases, and what is skipped where something is missing."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

os.environ["ESTIMICA_TRUST"] = (
    "all"  # studies of tests run their own code; tests of asking unset it
)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # started in the background of a shell: tests of Ctrl-C need the signal, their children too
    signal.signal(signal.SIGINT, signal.default_int_handler)


def standard_library() -> Path | None:
    """The folder of a Modelica Standard Library on MODELICAPATH, if there is one."""
    for entry in os.environ.get("MODELICAPATH", "").split(os.pathsep):
        if entry and any(
            (folder / "package.mo").is_file() for folder in Path(entry).glob("Modelica*")
        ):
            return Path(entry)
    return None


class Tier:
    """The tests of slow_tests.txt: by name, which of their parameters stay in `make test`."""

    def __init__(self, text: str) -> None:
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        self.stay = {
            name: rest.split(", ") for name, _, rest in (x.partition(" but ") for x in lines)
        }
        self._begun: set[str] = set()

    def is_slow(self, test: str) -> bool:
        """Whether a test, asked for in the order of collection, is left to `make full`."""
        name, _, parameters = test.partition("[")
        if name not in self.stay:
            return False
        first = name not in self._begun
        self._begun.add(name)
        if self.stay[name] == ["the first"]:
            return not first
        return parameters.removesuffix("]") not in self.stay[name] or not parameters


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    tier = Tier((ROOT / "tests" / "slow_tests.txt").read_text(encoding="utf-8"))
    for item in items:
        if tier.is_slow(item.nodeid):
            item.add_marker(pytest.mark.slow)
    if standard_library() is None:
        skip = pytest.mark.skip(reason="no Modelica Standard Library on MODELICAPATH")
        for item in items:
            if item.get_closest_marker("msl"):
                item.add_marker(skip)


@pytest.fixture(scope="session")
def cases() -> Path:
    """The folder of reference data sets: $ESTIMICA_CASES, or ../shared/cases."""
    folder = Path(os.environ.get("ESTIMICA_CASES", ROOT.parent / "shared" / "cases"))
    if not folder.is_dir():
        pytest.skip(f"no reference cases: {folder} is not a folder; set ESTIMICA_CASES")
    return folder


@pytest.fixture(scope="session")
def examples() -> Path:
    """The folder of example models and scripts."""
    return ROOT / "examples"
