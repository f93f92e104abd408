"""Machine code from disk: the same numbers, and never from where somebody else can write."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from estimica.compiled.llvm import machine_code, object_code


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ESTIMICA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(object_code, "_SHORT", 0)
    return tmp_path / "cache" / "code"


def long_function() -> ca.Function:
    x = ca.SX.sym("x", 3)
    y = x
    for k in range(40):
        y = ca.sin(y) + ca.vertcat(y[2], y[0], y[1]) * (0.1 + 0.01 * k)
    return ca.Function("f", [x], [y])


def value(function: ca.Function) -> np.ndarray:
    code = machine_code.compile_functions([function])
    return np.array(machine_code.evaluate(code, function, [[0.1, -0.7, 2.0]])[0]).ravel()


def test_code_from_disk_gives_the_same_bits(kept, monkeypatch):
    f = long_function()
    fresh = value(f)
    assert len(list(kept.iterdir())) == 1
    monkeypatch.setattr(object_code, "_compiled", None)  # nothing is compiled any more
    assert np.array_equal(value(f), fresh)
    assert np.array_equal(fresh, np.array(f([0.1, -0.7, 2.0])).ravel())


def test_another_function_has_another_entry(kept):
    value(long_function())
    x = ca.SX.sym("x", 3)
    assert np.allclose(value(ca.Function("f", [x], [2 * x])), [0.2, -1.4, 4.0])
    assert len(list(kept.iterdir())) == 2


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-7], lambda b: b[:60] + b"X" + b[61:], lambda b: b""]
)
def test_a_damaged_entry_is_compiled_anew(kept, damage):
    f = long_function()
    fresh = value(f)
    (entry,) = kept.iterdir()
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole))
    assert np.array_equal(value(f), fresh)
    assert entry.read_bytes() == whole


def test_a_folder_that_others_can_write_to_is_not_used(kept):
    kept.mkdir(parents=True)
    kept.chmod(0o777)
    value(long_function())
    assert not list(kept.iterdir())
    kept.chmod(0o700)
    kept.parent.chmod(0o777)  # nor where they could put another folder in its place
    value(long_function())
    assert not list(kept.iterdir())


def test_short_functions_are_not_kept(kept, monkeypatch):
    monkeypatch.setattr(object_code, "_SHORT", 10**9)
    value(long_function())
    assert not kept.exists()
