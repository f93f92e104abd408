"""The Dask executor: the same outcomes as serial work, and nothing lost when a worker dies."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("distributed")

from estimica.base.errors import ExecuteError
from estimica.execute.outcome import ItemOutcome, Kind
from estimica.execute.pieces import seeds
from estimica.execute.workers import executor as room
from estimica.execute.workers.context import NO_CONTEXT, Context
from estimica.execute.workers.executor import Executor, executor
from estimica.execute.workers.serial import SerialExecutor

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE))  # workers are given the path of their parent

import execute_tasks as tasks  # noqa: E402


@pytest.fixture(scope="module")
def cluster() -> Iterator[Executor]:
    with executor("dask", 2) as made:
        yield made


def test_outcomes_come_in_the_order_of_the_items(cluster: Executor) -> None:
    told: list[int] = []

    def note(index: int, outcome: ItemOutcome[int]) -> None:
        told.append(index)

    found = cluster.map(tasks.slow_first, range(40), context=NO_CONTEXT, on_done=note, batch=1)
    assert [o.result() for o in found] == [k * k for k in range(40)]
    assert sorted(told) == list(range(40))
    assert told[0] != 0  # the slow one came in later


def test_random_numbers_are_those_of_serial_work(cluster: Executor) -> None:
    items = seeds(7, 30)
    alone = SerialExecutor().map(tasks.drawn, items, context=NO_CONTEXT)
    found = cluster.map(tasks.drawn, items, context=NO_CONTEXT)
    assert [o.value for o in found] == [o.value for o in alone]


def test_a_context_is_built_once_in_each_worker(cluster: Executor, tmp_path: Path) -> None:
    mark = tmp_path / "built"
    context = Context(partial(tasks.model, 3.0, str(mark)))
    for _ in range(2):
        found = cluster.map(tasks.scaled, list(np.arange(50.0)), context=context)
        assert [o.result() for o in found] == list(3.0 * np.arange(50.0))
    assert len(mark.read_text().split()) <= 2


def test_an_error_in_a_task_is_the_outcome_of_its_item(cluster: Executor) -> None:
    found = cluster.map(tasks.scaled, [1.0, "x"], context=Context(partial(tasks.model, 2.0)))
    assert found[0].result() == 2.0
    assert found[1].result() == "xx" if found[1].done else found[1].kind is Kind.FAILED


@pytest.mark.slow
def test_a_worker_that_dies_costs_one_item_only() -> None:
    with executor("dask", 2) as made:
        found = made.map(tasks.dies_at_three, range(8), context=NO_CONTEXT, batch=4)
    assert [o.value for o in found] == [0, 1, 2, None, 4, 5, 6, 7]
    assert found[3].kind is Kind.CRASHED
    assert "the Dask worker that worked on item 3 ended, and again when" in found[3].error


def test_an_error_while_told_of_an_outcome_ends_the_work() -> None:
    def note(index: int, outcome: ItemOutcome[int]) -> None:
        raise ZeroDivisionError

    with executor("dask", 1) as made, pytest.raises(ZeroDivisionError):
        made.map(tasks.slow_first, range(4), context=NO_CONTEXT, on_done=note)


def test_a_running_cluster_is_joined_by_its_address() -> None:
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=1, threads_per_worker=2, dashboard_address="127.0.0.1:0", processes=True
    ) as running:
        with executor(f"dask={running.scheduler_address}") as made:
            found = made.map(tasks.slow_first, range(6), context=NO_CONTEXT)
            assert made.workers == 2
        assert [o.result() for o in found] == [0, 1, 4, 9, 16, 25]
        assert running.workers  # it is not ours to end


def test_an_address_where_nobody_answers_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("estimica.execute.workers.dask_cluster.PATIENCE", "1s")
    with (
        executor("dask=tcp://127.0.0.1:9") as made,
        pytest.raises(ExecuteError, match=r"X015: executor 'dask=tcp://127.0.0.1:9': no Dask sch"),
    ):
        made.map(tasks.slow_first, range(2), context=NO_CONTEXT)


def test_what_cannot_be_prepared_is_told(cluster: Executor) -> None:
    with pytest.raises(ExecuteError, match="X004: the work cannot be prepared: TypeError"):
        cluster.map(tasks.scaled, [1.0], context=Context(partial(tasks.model, 1.0, 5, 6)))


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "find_spec", lambda name: None)
    with pytest.raises(ExecuteError, match=r"X011: executor 'dask' needs Dask, .*estimica\[dask\]"):
        executor("dask", 2)
