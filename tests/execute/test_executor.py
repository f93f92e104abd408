"""Executors: the same results from all, in order, and nothing lost when a worker dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from estimica.base.errors import ExecuteError, SimulationError
from estimica.execute.outcome import ItemOutcome, Kind
from estimica.execute.pieces import seeds
from estimica.execute.workers.context import NO_CONTEXT, Context
from estimica.execute.workers.executor import Executor, executor, processors
from estimica.execute.workers.local import DEATHS, LocalProcesses
from estimica.execute.workers.serial import SerialExecutor

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE))  # workers are given the path of their parent

import execute_tasks as tasks  # noqa: E402


@pytest.fixture(scope="module")
def pool() -> Iterator[Executor]:
    """One pair of workers for the tests that leave them alive."""
    with executor("local", 2) as made:
        yield made


@pytest.fixture(params=["serial", "local"])
def either(request: pytest.FixtureRequest, pool: Executor) -> Executor:
    return SerialExecutor() if request.param == "serial" else pool


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def children(pid: int) -> set[int]:
    """Child processes, zombies too, but not the helper that Python itself keeps."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if int(stat[1]) == pid and b"resource_tracker" not in line:
                found.add(int(entry.name))
    return found


def until(condition: Any, seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def test_names_choose_the_executor() -> None:
    assert isinstance(executor("serial", 8), SerialExecutor)
    assert isinstance(executor("local", 1), SerialExecutor)
    assert isinstance(executor("local", 3), LocalProcesses)
    assert executor("local", 3).workers == 3
    assert executor().workers == processors()


@pytest.mark.parametrize(
    ("name", "workers", "text"),
    [
        ("locl", None, "X010: there is no executor 'locl'; did you mean 'local'?"),
        ("grid", None, "X010: there is no executor 'grid'; use 'local', 'serial', 'dask' or"),
        ("local=4", None, "X010: there is no executor 'local=4'"),
        ("local", 0, "X012: 0 workers cannot do anything; use 1 or more"),
    ],
)
def test_wrong_executor_says_what_to_use(name: str, workers: int | None, text: str) -> None:
    with pytest.raises(ExecuteError) as raised:
        executor(name, workers)
    assert str(raised.value).startswith(text)


def test_nothing_to_do_starts_nobody() -> None:
    before = children(os.getpid()) if sys.platform == "linux" else set()
    with LocalProcesses(2) as local:
        assert local.map(tasks.scaled, [], context=Context(partial(tasks.model, 2.0))) == []
        assert sys.platform != "linux" or children(os.getpid()) <= before


def test_serial_and_processes_give_identical_results(pool: Executor) -> None:
    context = Context(partial(tasks.model, 1 / 3))
    items = list(np.linspace(-1, 1, 101))
    assert pool.map(tasks.scaled, items, context=context) == SerialExecutor().map(
        tasks.scaled, items, context=context
    )


OSCILLATOR = """
model Oscillator
  parameter Real k = 1;
  output Real x(start = 1, fixed = true);
  Real v(start = 0, fixed = true);
equation
  der(x) = v;
  der(v) = -k*x - 0.1*v^3;
end Oscillator;
"""


def test_model_compiled_in_every_worker_gives_the_same_bits(pool: Executor, tmp_path: Path) -> None:
    path = tmp_path / "Oscillator.mo"
    path.write_text(OSCILLATOR, encoding="utf-8")
    context = Context(partial(tasks.modelica, str(path)))
    items = list(np.linspace(0.5, 4, 12))
    found = pool.map(tasks.sensitivities, items, context=context)
    assert [o.result() for o in found] == [
        o.result() for o in SerialExecutor().map(tasks.sensitivities, items, context=context)
    ]


def test_same_seed_same_numbers_whichever_executor(pool: Executor) -> None:
    def values(found: list[ItemOutcome[list[float]]]) -> list[list[float]]:
        return [o.result() for o in found]

    alone = values(SerialExecutor().map(tasks.drawn, seeds(7, 20), context=NO_CONTEXT))
    assert values(pool.map(tasks.drawn, seeds(7, 20), context=NO_CONTEXT, batch=3)) == alone
    assert values(pool.map(tasks.drawn, seeds(7, 20), context=NO_CONTEXT, batch=1)) == alone
    assert values(SerialExecutor().map(tasks.drawn, seeds(7, 5), context=NO_CONTEXT)) == alone[:5]
    assert len({tuple(v) for v in alone}) == 20


def test_results_keep_the_order_and_are_told_as_they_finish(pool: Executor) -> None:
    told: list[int] = []

    def on_done(index: int, outcome: ItemOutcome[int]) -> None:
        assert outcome.value == index * index
        told.append(index)

    found = pool.map(tasks.slow_first, range(6), context=NO_CONTEXT, on_done=on_done, batch=1)
    assert [o.value for o in found] == [0, 1, 4, 9, 16, 25]
    assert sorted(told) == list(range(6))
    assert told[0] != 0


def test_context_is_built_once_in_every_worker(tmp_path: Path) -> None:
    mark = tmp_path / "built"
    context = Context(partial(tasks.model, 2.0, str(mark)))
    with LocalProcesses(2) as local:
        for _ in range(2):
            local.map(tasks.scaled, range(50), context=context, batch=1)
        assert len(mark.read_text().splitlines()) == len(set(mark.read_text().splitlines())) <= 2
        other = Context(partial(tasks.model, 3.0))
        assert local.map(tasks.scaled, [1.0], context=other)[0].value == 3.0


def test_serial_uses_what_is_built_already(tmp_path: Path) -> None:
    mark = tmp_path / "built"
    build = partial(tasks.model, 2.0, str(mark))
    ready = Context(build, built=tasks.Model(5.0))
    assert SerialExecutor().map(tasks.scaled, [1.0], context=ready)[0].value == 5.0
    assert not mark.exists()
    serial, context = SerialExecutor(), Context(build)
    for _ in range(3):
        serial.map(tasks.scaled, [1.0], context=context)
    assert len(mark.read_text().splitlines()) == 1


def test_both_workers_take_part(pool: Executor) -> None:
    pids = {o.value for o in pool.map(tasks.worker, range(40), context=NO_CONTEXT)}
    assert len(pids) == 2
    assert os.getpid() not in pids


def test_error_in_a_task_is_the_outcome_of_its_item(either: Executor) -> None:
    found = either.map(tasks.raises, range(5), context=NO_CONTEXT)
    assert [o.kind for o in found] == [Kind.DONE, *[Kind.FAILED] * 3, Kind.DONE]
    assert (found[1].code, found[1].error) == (
        "R099",
        "the tank ran dry at t = 3; raise its level",
    )
    assert (found[2].code, found[2].error) == ("X001", "ZeroDivisionError: by nothing")
    assert "execute_tasks.py" in found[2].trace
    assert found[3].error == "SystemExit: 4"
    assert [found[0].value, found[4].value] == [0, 4]
    with pytest.raises(ExecuteError, match=r"^R099: the tank ran dry"):
        found[1].result()


def test_error_while_preparing_is_raised(either: Executor) -> None:
    with pytest.raises(SimulationError, match=r"^R098: this model does not start$"):
        either.map(tasks.plain, [1, 2], context=Context(tasks.refused))
    with pytest.raises(ExecuteError, match=r"^X004: the work cannot be prepared: ValueError: bad"):
        either.map(tasks.plain, [1, 2], context=Context(tasks.broken))
    assert either.map(tasks.plain, [1], context=NO_CONTEXT)[0].value == 1


def test_lambdas_and_closures_reach_the_workers(pool: Executor) -> None:
    factor = 3
    tripled = pool.map(lambda context, item: factor * item, [1, 2], context=NO_CONTEXT)
    assert [one.value for one in tripled] == [3, 6]


def test_what_cannot_be_sent_is_named(pool: Executor) -> None:
    lock = threading.Lock()
    with pytest.raises(ExecuteError, match=r"^X002: the task cannot be sent to a worker process"):
        pool.map(lambda context, item: lock, [1], context=NO_CONTEXT)
    with pytest.raises(ExecuteError, match=r"^X002: item 1 cannot be sent .* \(files, connections"):
        pool.map(tasks.plain, [1, lock], context=NO_CONTEXT)  # type: ignore[list-item]
    (found,) = pool.map(tasks.unpicklable, [1], context=NO_CONTEXT)
    assert found.code == "X005"
    assert found.error.startswith("the result cannot be sent back from a worker process")


def test_result_that_cannot_be_read_is_its_outcome(pool: Executor) -> None:
    found = pool.map(tasks.only_there, [1, 2], context=NO_CONTEXT)
    assert [o.code for o in found] == ["X014"] * 2
    assert found[0].error.startswith("the result of a worker process cannot be read: ValueError")


@pytest.mark.parametrize("batch", [-3, 0, 1, 1000])
def test_any_batch_does_all_items(pool: Executor, batch: int) -> None:
    found = pool.map(tasks.plain, range(5), context=NO_CONTEXT, batch=batch)
    assert [o.value for o in found] == list(range(5))


def test_workers_do_not_start_workers_and_use_one_thread(pool: Executor) -> None:
    assert pool.map(tasks.nested, [1], context=NO_CONTEXT)[0].value == "SerialExecutor"
    if "OMP_NUM_THREADS" not in os.environ:
        assert pool.map(tasks.threads, [1], context=NO_CONTEXT)[0].value == "1"
        assert "OMP_NUM_THREADS" not in os.environ


def test_dead_worker_costs_its_item_only() -> None:
    told: list[int] = []
    with LocalProcesses(2) as local:
        found = local.map(
            tasks.dies_at_three,
            range(12),
            context=NO_CONTEXT,
            on_done=lambda k, o: told.append(k),
            batch=4,
        )
    assert [o.value for o in found] == [0, 1, 2, None, *range(4, 12)]
    assert found[3].kind is Kind.CRASHED
    assert found[3].code == "X006"
    assert found[3].error == (
        "the process that worked on item 3 ended (signal SIGKILL), and again when it was tried "
        "alone; if memory ran out, make the item smaller"
    )
    assert sorted(told) == list(range(12))


def test_item_whose_worker_died_by_chance_is_done_the_second_time(tmp_path: Path) -> None:
    with LocalProcesses(2) as local:
        items = ["", str(tmp_path / "mark"), ""]
        found = local.map(tasks.dies_once, items, context=NO_CONTEXT)
    assert [o.value for o in found] == ["alive"] * 3


def test_workers_that_always_die_are_given_up() -> None:
    with LocalProcesses(4) as local:
        found = local.map(tasks.dies, range(40), context=NO_CONTEXT)
    assert len(found) == 40
    assert all(o.kind is Kind.CRASHED for o in found)
    assert sum(o.code == "X007" for o in found) == 40
    assert found[39].error == f"item 39 was not tried: {DEATHS} worker processes ended before it"


def test_workers_that_die_while_preparing_are_told() -> None:
    with LocalProcesses(2) as local, pytest.raises(ExecuteError) as raised:
        local.map(tasks.plain, range(4), context=Context(tasks.killed))
    assert str(raised.value) == (
        "X009: every worker process ended while it prepared its work (the last with signal "
        "SIGKILL); if memory ran out, use 1 worker"
    )


def test_one_worker_that_can_prepare_does_all(tmp_path: Path) -> None:
    context = Context(partial(tasks.ends_all_but_first, str(tmp_path / "first")))
    with LocalProcesses(3) as local:
        found = local.map(tasks.plain, range(9), context=context, batch=2)
    assert [o.value for o in found] == list(range(9))


def test_error_in_on_done_ends_the_work_and_is_raised() -> None:
    def on_done(index: int, outcome: ItemOutcome[int]) -> None:
        raise OSError("disk full")

    with LocalProcesses(2) as local, pytest.raises(OSError, match="disk full"):
        local.map(tasks.plain, range(9), context=NO_CONTEXT, on_done=on_done)


@linux
def test_no_process_is_left_when_the_executor_closes() -> None:
    before = children(os.getpid())
    with LocalProcesses(2) as local:
        pids = {o.value for o in local.map(tasks.worker, range(8), context=NO_CONTEXT)}
        (server,) = children(os.getpid()) - before
        assert pids == children(server)
    assert children(os.getpid()) == before
    assert not any(alive(pid) for pid in pids)
    local.close()


@linux
def test_context_with_threads_is_made_in_every_worker() -> None:
    with LocalProcesses(2) as local:
        found = local.map(tasks.worker, range(8), context=Context(tasks.thread))
        assert {o.value for o in found} <= children(os.getpid())


@linux
def test_copies_draw_numbers_of_their_own() -> None:
    with LocalProcesses(2) as local:
        found = local.map(tasks.drawn_without_seed, range(8), context=Context(tasks.numpy_random))
    assert len({o.value for o in found}) == 8


def test_context_is_replaced_in_all_workers() -> None:
    with LocalProcesses(2) as local:
        for factor in (2.0, 3.0, 2.0):
            found = local.map(
                tasks.scaled, [1.0] * 6, context=Context(partial(tasks.model, factor))
            )
            assert [o.value for o in found] == [factor] * 6


def script(folder: Path, text: str) -> Path:
    path = folder / "script.py"
    path.write_text(f"import sys\nsys.path.append({str(HERE)!r})\n{text}", encoding="utf-8")
    return path


SLEEPERS = """
import execute_tasks as tasks
from estimica.execute.workers.context import NO_CONTEXT
from estimica.execute.workers.executor import executor
with executor("local", 2) as local:
    try:
        local.map(tasks.noted_sleep, [{folder!r}] * 10, context=NO_CONTEXT)
    except KeyboardInterrupt:
        print("interrupted")
        raise
"""


def sleepers(tmp_path: Path) -> tuple[subprocess.Popen[str], Path]:
    folder = tmp_path / "pids"
    folder.mkdir()
    path = script(tmp_path, SLEEPERS.format(folder=str(folder)))
    started = subprocess.Popen(
        [sys.executable, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert until(lambda: len(list(folder.iterdir())) == 2)
    return started, folder


@linux
def test_ctrl_c_ends_the_workers_and_is_raised(tmp_path: Path) -> None:
    started, folder = sleepers(tmp_path)
    begin = time.monotonic()
    os.killpg(started.pid, signal.SIGINT)  # as a terminal does: to all of them
    out, err = started.communicate(timeout=20)
    assert time.monotonic() - begin < 5
    assert out == "interrupted\n"
    assert err.count("Traceback") == 1
    assert started.returncode == -signal.SIGINT
    assert len(list(folder.iterdir())) == 2, "items began after Ctrl-C"
    assert not any(alive(int(p.name)) for p in folder.iterdir())


@linux
def test_workers_end_with_a_killed_parent(tmp_path: Path) -> None:
    started, folder = sleepers(tmp_path)
    started.kill()
    started.communicate(timeout=20)
    assert until(lambda: not any(alive(int(p.name)) for p in folder.iterdir()), 5)


def run_script(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(script(folder, text))],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


HEAD = """
import execute_tasks as tasks
from estimica.base.errors import EstimicaError
from estimica.execute.workers.context import NO_CONTEXT
from estimica.execute.workers.executor import executor
print("top")
def square(context, item):
    return item * item
"""


def test_script_needs_no_guard_unless_workers_need_it(tmp_path: Path) -> None:
    text = "print([o.value for o in executor('local', 2).map(tasks.plain, [1, 2], context=NO_CONTEXT)])"
    done = run_script(tmp_path, HEAD + text)
    assert done.stdout == "top\n[1, 2]\n"
    assert done.stderr == ""


def test_what_workers_print_stays_off_stdout(tmp_path: Path) -> None:
    done = run_script(
        tmp_path, HEAD + "executor('local', 2).map(tasks.loud, [1], context=NO_CONTEXT)"
    )
    assert done.stdout == "top\n"
    assert sorted(done.stderr.splitlines()) == ["printed by a worker", "written by a library"]


def test_functions_of_a_guarded_script_reach_the_workers(tmp_path: Path) -> None:
    text = """
if __name__ == "__main__":
    with executor("local", 2) as local:
        local.map(tasks.plain, [1], context=NO_CONTEXT)
        print([o.value for o in local.map(square, [1, 2], context=NO_CONTEXT)])
"""
    done = run_script(tmp_path, HEAD + text)
    assert done.stdout.splitlines()[-1] == "[1, 4]"
    assert done.stderr == ""


def test_functions_of_an_unguarded_script_reach_the_workers(tmp_path: Path) -> None:
    text = "print([o.value for o in executor('local', 2).map(square, [1, 2], context=NO_CONTEXT)])"
    done = run_script(tmp_path, HEAD + text)
    assert done.stdout == "top\n[1, 4]\n"
    assert done.stderr == ""


def test_functions_typed_at_a_prompt_reach_the_workers(tmp_path: Path) -> None:
    text = "print([o.value for o in executor('local', 2).map(square, [1, 2], context=NO_CONTEXT)])"
    text = f"import sys; sys.path.append({str(HERE)!r})\n{HEAD}{text}"
    done = subprocess.run(
        [sys.executable, "-"], input=text, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "top\n[1, 4]\n", done.stderr
