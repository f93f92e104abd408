"""How a Python process of our own is started: no file of some folder stands in for a module."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

_PACKAGES = Path(__file__).parents[2]  # the folder that this package lies in


def python_command(*arguments: str) -> list[str]:
    """The interpreter and its arguments; -P: modules are not looked for in the current folder."""
    return [sys.executable, "-P", *arguments]


def python_environment() -> dict[str, str]:
    """The variables of such a process, which finds this very package.

    An empty or relative entry of PYTHONPATH is a way to say "the current folder".
    """
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = [path for path in given if os.path.isabs(path)]
    installed = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
    if str(_PACKAGES) not in {*installed, *paths}:
        paths.insert(0, str(_PACKAGES))
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    return environment | ({"PYTHONPATH": os.pathsep.join(paths)} if paths else {})
