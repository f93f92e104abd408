"""A small model with its data, and a study of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.study.tank import write_study, write_tank


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with Tank.mo and run1.csv (t, current, level, temp [degC], other)."""
    write_tank(tmp_path)
    return tmp_path


@pytest.fixture
def study(folder: Path) -> Callable[..., Path]:
    """Writes a study of the tank with some texts replaced, and says where."""
    return partial(write_study, folder)
