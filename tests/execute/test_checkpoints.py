"""Checkpoints that were damaged on the disk: noticed, said, and done again."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from estimica.apps.cli.commands.app import app
from estimica.data.writers import write_csv
from estimica.execute.outcome import ItemOutcome
from estimica.execute.pieces import map_with_checkpoints
from estimica.execute.runs.record import Status
from estimica.execute.runs.store import Store
from estimica.execute.workers.context import Context
from estimica.execute.workers.executor import executor

WHOLE = {f"piece {k}": {"value": [0.1 * k, "text", None]} for k in range(4)}
HURT = "piece 2"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store with an interrupted run of four checkpoints."""
    store = Store.beside(tmp_path)
    with store.begin("work", name="work", study="", settings={}) as run:
        for key, value in WHOLE.items():
            run.checkpoint(key, value)
        run.finish(Status.INTERRUPTED)
    return store


def changed(store: Store, statement: str, *values: object) -> None:
    database = sqlite3.connect(store.path)
    assert database.execute(statement, values).rowcount == 1
    database.commit()
    database.close()


def payload_of(store: Store, key: str = HURT) -> bytes:
    database = sqlite3.connect(store.path)
    (found,) = database.execute(
        "SELECT CAST(payload AS BLOB) FROM checkpoint WHERE key = ?", (key,)
    ).fetchone()
    database.close()
    return bytes(found)


def flipped(content: bytes, bit: int) -> bytes:
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def require_left_out(store: Store, *hurt: str) -> None:
    run = store.resume("last")
    assert run.checkpoints() == {k: v for k, v in WHOLE.items() if k not in hurt}
    assert run.damaged == hurt
    run.finish(Status.INTERRUPTED)
    run.close()
    assert set(store.run("last").checkpoints) == set(WHOLE) - set(hurt)


SET = "UPDATE checkpoint SET payload = CAST(? AS TEXT) WHERE key = ?"


def test_whole_checkpoints_are_used(store: Store) -> None:
    require_left_out(store)


def test_every_flipped_bit_of_a_payload_is_noticed(store: Store) -> None:
    content = payload_of(store)
    for bit in range(0, 8 * len(content), 13):
        changed(store, SET, flipped(content, bit), HURT)
        require_left_out(store, HURT)
    changed(store, SET, content, HURT)
    require_left_out(store)


@pytest.mark.parametrize(
    "text", [b"", b"{", b"null", b'{"value":[0.2,"text"]}', b"\xff\xfe", b"[" * 5000]
)
def test_a_payload_that_is_cut_or_another_is_noticed(store: Store, text: bytes) -> None:
    changed(store, SET, text, HURT)
    require_left_out(store, HURT)


def test_a_payload_under_another_key_or_run_is_noticed(store: Store) -> None:
    changed(store, SET, payload_of(store, "piece 1"), HURT)
    require_left_out(store, HURT)


def test_a_checksum_that_is_wrong_is_noticed(store: Store) -> None:
    changed(store, "UPDATE checkpoint SET checksum = 'ffff' WHERE key = ?", HURT)
    require_left_out(store, HURT)


def test_an_older_store_without_checksums_is_read_and_renewed(store: Store) -> None:
    database = sqlite3.connect(store.path)
    database.execute("ALTER TABLE checkpoint DROP COLUMN checksum")
    database.execute("DROP TABLE label")
    database.execute("PRAGMA user_version = 2")
    database.close()
    assert store.run("last").checkpoints == WHOLE
    require_left_out(store)
    changed(store, SET, b"{", HURT)
    require_left_out(store, HURT)


def test_only_the_damaged_piece_is_done_again(store: Store) -> None:
    changed(store, SET, flipped(payload_of(store), 40), HURT)
    done: list[float] = []
    found: dict[int, Any] = {}

    def task(_: object, item: float) -> float:
        done.append(item)
        return item

    def note(number: int, outcome: ItemOutcome[Any]) -> None:
        found[number] = outcome.result()

    with store.resume("last") as run, executor("serial") as hands:
        pieces = {key: float(k) for k, key in enumerate(WHOLE)}
        map_with_checkpoints(hands, task, pieces, context=Context(dict, {}), run=run, on_piece=note)
    assert done == [2.0]
    assert found == {0: WHOLE["piece 0"]["value"], 1: WHOLE["piece 1"]["value"], 2: 2.0,
                     3: WHOLE["piece 3"]["value"]}  # fmt: skip


def test_a_resumed_command_says_what_was_damaged_and_ends_the_same(tmp_path: Path) -> None:
    x = np.linspace(0, 1, 20)
    y = 1 + 2 * x + 0.1 * np.random.default_rng(1).standard_normal(20)
    write_csv(tmp_path / "line.csv", {"x": x, "y": y})
    path = tmp_path / "line.toml"
    path.write_text(
        '[static]\nexpression = "a + b*x"\n[tune]\na = 0.0\nb = 0.5\n[[case]]\nname = "points"\n'
        'data = "line.csv"\ninputs = { x = "x" }\noutputs = { y = "y" }\n',
        encoding="utf-8",
    )

    def bootstrap(*more: str) -> tuple[dict[str, Any], str]:
        arguments = ["bootstrap", str(path), "--json", *more]
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, done.output
        found = json.loads(done.stdout)
        return {k: v for k, v in found.items() if k not in ("run", "seconds")}, done.stderr

    whole, _ = bootstrap("--replicates", "8")
    store = Store.beside(path)
    changed(store, "UPDATE run SET status = 'interrupted'")
    hurt = "replicate 000003"
    changed(store, SET, payload_of(store, hurt).replace(b"1", b"2", 1), hurt)
    resumed, said = bootstrap("--resume", "last")
    assert resumed == whole
    assert f"warning B040: a checkpoint is damaged ('{hurt}')" in said
