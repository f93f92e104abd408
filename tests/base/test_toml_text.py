"""TOML of a user is parsed within limits, and what is beyond them is told with its place."""

from __future__ import annotations

import time
import tomllib

import pytest

from estimica.base.files.toml import DEPTH, ENTRIES, TOML_LIMIT, load_toml

BEYOND = {
    "50,000 dots": ("x = 1\n" + "a." * 50_000 + "a = 1", "a name has more than 32 parts .*line 2"),
    "dots of a table": ("[" + "a." * 50_000 + "a]", "a name has more than 32 parts"),
    "quoted dots": ('"a".' * 50_000 + "a = 1", "a name has more than 32 parts"),
    "spaced dots": ("a . " * 50_000 + "a = 1", "a name has more than 32 parts"),
    "lists": ("a = " + "[" * 50_000 + "]" * 50_000, "nested too deeply: at most 32"),
    "lists within reach of Python": ("a = " + "[" * 40 + "]" * 40, "nested too deeply"),
    "tables": ("a = " + "{a=" * 5_000 + "1" + "}" * 5_000, "nested too deeply"),
    "entries": ("a = [" + "1," * (ENTRIES + 1) + "]", "has 50001 entries, and at most 50000"),
    "keys": ("\n".join(f"k{k}=1" for k in range(ENTRIES + 1)), "has 50001 entries"),
    "a long text": ("a = '" + "x" * 1_000_000 + "'", "'x{40}…' has 1000000 characters"),
    "a long name": ("x" * 1_000_000 + " = 1", "'x{40}…' has 1000000 characters"),
    "a long file": ("#" * (TOML_LIMIT + 1), "has 2000001 characters, and at most 2000000"),
    "digits": ("b = 2\na = " + "1" * 10_000, r"more than 4300 digits \(at line 2, column 5\)"),
}


@pytest.mark.parametrize("what", BEYOND)
def test_what_would_take_all_memory_is_told(what: str) -> None:
    text, told = BEYOND[what]
    begun = time.process_time()
    with pytest.raises(tomllib.TOMLDecodeError, match=told):
        load_toml(text)
    assert time.process_time() - begun < 5


def test_what_is_within_the_limits_is_read() -> None:
    inner = load_toml("a." * (DEPTH - 1) + "a = 1")
    for _ in range(DEPTH):
        inner = inner["a"]
    assert inner == 1
    assert load_toml("\ufeffa = 'b.c.d'") == {"a": "b.c.d"}
    assert len(load_toml("a = '" + "xy" * 15_000 + "'")["a"]) == 30_000
