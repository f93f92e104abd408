"""The store of runs: nothing lost, nothing torn, and every trouble told in plain words."""

from __future__ import annotations

import math
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from estimica.base.errors import SimulationError, StoreError
from estimica.execute.runs import store as store_module
from estimica.execute.runs.process_identity import ProcessIdentity, this_process
from estimica.execute.runs.provenance import environment, fingerprint
from estimica.execute.runs.record import Status, is_run_id, new_run_id
from estimica.execute.runs.store import Store
from estimica.execute.runs.writer import RunWriter
from estimica.simulate.formula import formula_model
from estimica.study.study import Study


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.beside(tmp_path)


def begin(store: Store, **settings: object) -> RunWriter:
    return store.begin("fit", name="boiler", study={"model": "Boiler"}, settings=settings)


def started(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_store_lies_beside_the_study(tmp_path: Path) -> None:
    study = tmp_path / "boiler.toml"
    study.touch()
    usual = tmp_path / ".estimica" / "runs.sqlite"
    assert Store.beside(study).path == Store.beside(tmp_path).path == usual
    assert Store.of(study, None).path == usual
    assert Store.of(study, tmp_path / "other.db").path == tmp_path / "other.db"
    assert Store.of("elsewhere/a.toml", tmp_path).path == usual
    assert not usual.parent.exists()


def test_folder_of_the_store_stays_out_of_git(store: Store) -> None:
    begin(store).close()
    assert (store.path.parent / ".gitignore").read_text() == "*\n"


def test_run_comes_back_as_it_was_written(store: Store) -> None:
    with begin(store, seed=3, method="levenberg-marquardt") as run:
        run.iteration(0, 12.5, {"parameters": {"T_D": 250.0}})
        run.iteration(1, 1 / 3, {"parameters": {"T_D": np.float64(0.1)}, "step": np.arange(3)})
        run.checkpoint("start 1", {"cost": 2})
        run.checkpoint("start 1", {"cost": 3})
        result = {"cost": 1 / 3, "parameters": {"T_D": {"value": 0.1, "stderr": math.inf}}}
        run.finish(Status.DONE, "converged", result)
    found = store.run(run.id)
    assert found.id == run.id
    assert found.status is Status.DONE
    assert (found.summary.command, found.summary.name) == ("fit", "boiler")
    assert (found.summary.message, found.summary.cost) == ("converged", 1 / 3)
    assert found.study == {"model": "Boiler"}
    assert found.settings == {"seed": 3, "method": "levenberg-marquardt"}
    assert found.result == result
    assert [i.number for i in found.iterations] == [0, 1]
    assert found.iterations[1].payload == {"parameters": {"T_D": 0.1}, "step": [0, 1, 2]}
    assert found.checkpoints == {"start 1": {"cost": 3}}
    assert 0 <= (found.summary.seconds or -1) < 60
    assert found.environment["seed"] == 3


def test_numbers_that_are_not_finite_survive(store: Store) -> None:
    odd = [math.nan, math.inf, -math.inf, 1e-320, 0.1 + 0.2]
    with begin(store) as run:
        for k, cost in enumerate(odd):
            run.iteration(k, cost, {"value": cost})
        run.finish(Status.FAILED, "", {"cost": math.nan, "values": np.array(odd)})
    found = store.run(run.id)
    assert np.array_equal([i.cost for i in found.iterations], odd, equal_nan=True)
    assert np.array_equal([i.payload["value"] for i in found.iterations], odd, equal_nan=True)
    assert np.array_equal(found.result["values"], odd, equal_nan=True)
    assert found.summary.cost is None


def test_names_that_are_no_text_are_stored(store: Store) -> None:
    with store.begin("fit", name="a\udcffb", study="text\udcff", settings={}) as run:
        pass
    assert store.run(run.id).summary.name == "a?b"


def test_value_that_cannot_be_stored_is_named(store: Store) -> None:
    with pytest.raises(TypeError, match="a run cannot store a value of type object"):
        begin(store, odd=object())


def test_environment_names_versions_time_and_command_line() -> None:
    found = environment(7)
    for name in ("estimica", "python", "platform", "casadi", "numba", "time"):
        assert found[name], name
    assert found["seed"] == 7
    assert found["command_line"] == sys.argv


def test_end_of_the_block_ends_the_run(store: Store) -> None:
    with begin(store) as done:
        pass
    with pytest.raises(SimulationError), begin(store) as failed:
        raise SimulationError("R001", "it ended early")
    with pytest.raises(ZeroDivisionError), begin(store) as broken:
        raise ZeroDivisionError("by nothing")
    with pytest.raises(KeyboardInterrupt), begin(store) as stopped:
        raise KeyboardInterrupt
    left = begin(store)
    left.close()
    said = {r.id: (r.status, r.message) for r in store.runs()}
    assert said == {
        done.id: (Status.DONE, ""),
        failed.id: (Status.FAILED, "R001: it ended early"),
        broken.id: (Status.FAILED, "ZeroDivisionError: by nothing"),
        stopped.id: (Status.INTERRUPTED, "stopped by Ctrl-C"),
        left.id: (Status.INTERRUPTED, "left before it was done"),
    }


def test_iterations_are_seen_by_others_while_the_run_goes_on(store: Store) -> None:
    with begin(store) as run:
        run.iteration(0, 1.0, {})
        end = time.monotonic() + 10
        while not store.run(run.id).iterations and time.monotonic() < end:
            time.sleep(0.05)
        assert len(store.run(run.id).iterations) == 1
        assert store.run(run.id).status is Status.RUNNING


def test_list_has_the_newest_first_and_can_be_cut(store: Store) -> None:
    ids = []
    for command in ("fit", "release", "fit"):
        with store.begin(command, name="a", study={}, settings={}) as run:
            ids.append(run.id)
        time.sleep(0.003)
    assert [r.id for r in store.runs()] == ids[::-1] == sorted(ids, reverse=True)
    assert [r.id for r in store.runs(limit=1)] == ids[:1:-1]
    assert [r.id for r in store.runs(command="release")] == [ids[1]]


def test_ids_are_short_sorted_by_time_and_unique() -> None:
    first, later = new_run_id(1_800_000_000.0), new_run_id(1_800_000_000.002)
    assert len(first) == 11
    assert first < later
    assert len({new_run_id(1_800_000_000.0) for _ in range(20)}) > 10


def test_run_is_found_by_part_of_its_id_and_as_the_last(store: Store) -> None:
    runs = [begin(store) for _ in range(2)]
    for run in runs:
        run.close()
    assert store.run("last").id == runs[1].id
    assert store.run(runs[0].id[-3:]).id == runs[0].id
    with pytest.raises(StoreError, match=rf"^B011: 2 runs fit '{runs[0].id[0]}'.*write more of it"):
        store.run(runs[0].id[0])
    wrong = runs[0].id[:-1] + "!"
    with pytest.raises(StoreError, match=rf"^B010: there is no run '{wrong}'.*did you mean '"):
        store.run(wrong)
    with pytest.raises(StoreError, match=rf"^B010: .*; the newest is '{runs[1].id}', `estimica"):
        store.run("------")


def test_store_that_does_not_exist_is_empty_and_stays_so(store: Store) -> None:
    assert store.runs() == []
    with pytest.raises(StoreError, match=r"^B010: there is no run 'last': '.*' holds no runs yet$"):
        store.run("last")
    assert not store.path.parent.exists()


def test_empty_file_is_an_empty_store(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    path.touch()
    assert Store(path).runs() == []
    begin(Store(path)).close()
    assert len(Store(path).runs()) == 1


def test_deleted_runs_are_gone_with_all_they_had(store: Store) -> None:
    with begin(store) as kept, begin(store) as run:
        run.iteration(0, 1.0, {"x": "y" * 100_000})
        run.checkpoint("a", 1)
        with pytest.raises(StoreError, match=f"^B013: run '{run.id}' is still running; stop it"):
            store.delete([run.id])
        kept.finish(Status.DONE)
        run.finish(Status.DONE)
    assert store.older_than(1) == []
    assert set(store.older_than(-1)) == {kept.id, run.id}
    assert store.delete([run.id, run.id]) == [run.id]
    assert [r.id for r in store.runs()] == [kept.id]
    with sqlite3.connect(store.path) as raw:
        assert raw.execute("SELECT count(*) FROM iteration").fetchone() == (0,)
        assert raw.execute("SELECT count(*) FROM checkpoint").fetchone() == (0,)
    raw.close()


def test_interrupted_run_is_taken_up_again(store: Store) -> None:
    first = begin(store)
    first.checkpoint("1", {"cost": 4.0})
    first.checkpoint("2", {"cost": math.inf})
    first.close()
    with store.resume(first.id) as again:
        assert again.id == first.id
        assert store.run(first.id).status is Status.RUNNING
        assert again.checkpoints() == {"1": {"cost": 4.0}, "2": {"cost": math.inf}}
        again.checkpoint("3", 5)
        assert list(again.checkpoints()) == ["1", "2", "3"]
        with pytest.raises(StoreError, match=f"^B012: run '{first.id}' is running; only a run"):
            store.resume(first.id)
    assert store.run(first.id).status is Status.DONE
    with pytest.raises(StoreError, match=f"^B012: run '{first.id}' is done; only a run that was"):
        store.resume(first.id)


WRITES = """
import sys
from estimica.execute.runs.store import Store
from estimica.execute.runs.record import Status
store = Store(sys.argv[1])
for k in range(5):
    with store.begin("fit", name=sys.argv[2], study={}, settings={}) as run:
        for j in range(200):
            run.iteration(j, float(j), {"who": sys.argv[2], "text": sys.argv[2] * 200})
            if j % 20 == 0:
                run.checkpoint(str(j), j)
                run.flush()
        run.finish(Status.DONE, "", {"cost": k})
        assert not run.trouble, run.trouble
"""


def test_several_processes_write_at_once_without_loss(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "runs.sqlite"  # made by whoever comes first
    writers = [started(WRITES, str(path), name) for name in "abc"]
    for writer in writers:
        _, errors = writer.communicate(timeout=60)
        assert writer.returncode == 0, errors
    store = Store(path)
    runs = store.runs()
    assert len(runs) == len({r.id for r in runs}) == 15
    for summary in runs:
        run = store.run(summary.id)
        assert run.status is Status.DONE
        assert [i.number for i in run.iterations] == list(range(200))
        assert {i.payload["text"] for i in run.iterations} == {summary.name * 200}
        assert sorted(run.checkpoints.values()) == list(range(0, 200, 20))


WORKS = """
import sys, time
from estimica.execute.runs.store import Store
run = Store(sys.argv[1]).begin("fit", name="a", study={"x": 1}, settings={})
run.iteration(0, 1.0, {"parameters": {"k": 2.0}})
run.flush()
print(run.id, flush=True)
j = 1
while True:
    run.iteration(j, 1.0, {"text": "z" * 1000})
    run.checkpoint(str(j), j)
    run.flush()
    j += 1
"""


def test_killed_process_leaves_a_readable_store_and_an_interrupted_run(store: Store) -> None:
    worker = started(WORKS, str(store.path))
    assert worker.stdout is not None
    run_id = worker.stdout.readline().strip()
    assert store.run(run_id).status is Status.RUNNING
    time.sleep(0.2)
    os.kill(worker.pid, signal.SIGKILL)
    end = time.monotonic() + 10
    while store.run(run_id).status is Status.RUNNING and time.monotonic() < end:
        time.sleep(0.02)  # it is not waited for: a zombie has ended, too
    found = store.run(run_id)
    worker.communicate()
    assert found.status is Status.INTERRUPTED
    assert found.summary.message == "its process ended before it was done"
    assert [i.number for i in found.iterations] == list(range(len(found.iterations)))
    assert len(found.iterations) > 1
    with store.resume(run_id) as again:
        assert len(again.checkpoints()) >= len(found.iterations) - 2
        again.finish(Status.DONE)
    assert store.run(run_id).status is Status.DONE


def test_number_of_a_process_given_out_again_is_not_the_process() -> None:
    me = this_process()
    assert me.is_alive() is True
    assert ProcessIdentity(me.host, me.pid, "earlier").is_alive() is False
    assert ProcessIdentity("another machine", me.pid, me.started).is_alive() is None


def changed(store: Store, statement: str, *values: Any) -> None:
    raw = sqlite3.connect(store.path)
    with raw:
        raw.execute(statement, values)
    raw.close()


def test_run_of_another_machine_lives_as_long_as_its_heart_beats(store: Store) -> None:
    with begin(store) as run:
        changed(store, "UPDATE run SET host = 'far away'")
        assert store.run(run.id).status is Status.RUNNING
        old = time.time() - store_module.SILENCE - 1
        changed(store, "UPDATE run SET heartbeat = ?", old)
        found = store.run(run.id).summary
        assert found.status is Status.INTERRUPTED
        assert found.ended == pytest.approx(old)


def test_newer_store_is_refused(store: Store) -> None:
    begin(store).close()
    changed(store, "PRAGMA user_version = 99")
    for use in (store.runs, lambda: begin(store), lambda: store.run("last")):
        with pytest.raises(StoreError) as raised:
            use()
        assert str(raised.value) == (
            f"B007: the store of runs '{store.path}' has version 99, made by a newer Estimica; "
            "this one reads up to version 4; update Estimica, or give another file with --store"
        )


def test_other_files_are_refused_and_left_alone(tmp_path: Path) -> None:
    text, other = tmp_path / "study.toml", tmp_path / "other.db"
    text.write_text("[model]\nsource = 'Boiler.mo'\n" * 100, encoding="utf-8")
    raw = sqlite3.connect(other)
    raw.execute("CREATE TABLE t (x)")
    raw.close()
    for path, code in ((text, "B002"), (other, "B001"), (tmp_path, "B003")):
        before = path.read_bytes() if path.is_file() else b""
        for use in (Store(path).runs, lambda path=path: begin(Store(path))):
            with pytest.raises(StoreError, match=rf"^{code}: .*--store$"):
                use()
        assert not path.is_file() or path.read_bytes() == before


def test_damaged_store_is_told(store: Store) -> None:
    with begin(store) as run:
        for k in range(200):
            run.iteration(k, 1.0, {"text": "x" * 200})
    raw = bytearray(store.path.read_bytes())
    raw[1024:] = os.urandom(len(raw) - 1024)
    store.path.write_bytes(raw)
    with pytest.raises(StoreError, match=r"^B002: '.*' is not a store of runs, or a damaged one"):
        store.runs()


def test_place_that_cannot_be_written_is_told_and_work_can_go_on(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = Store(tmp_path / "file" / "runs.sqlite")
    with pytest.raises(
        StoreError,
        match=r"^B003: the store of runs '.*' cannot be opened: '.*file' is not a folder",
    ):
        begin(store)
    with store.begin_if_possible("fit", name="a", study={}, settings={}) as run:
        assert run.trouble.startswith("B003: the store of runs")
        assert run.id == ""
        run.iteration(0, 1.0, {})
        run.checkpoint("a", {"x": np.float64(2)})
        assert run.checkpoints() == {"a": {"x": 2.0}}
        run.finish(Status.DONE)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_folder_that_is_read_only_is_told_and_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    begin(Store(path)).close()
    path.chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        assert len(Store(path).runs()) == 1
        with pytest.raises(StoreError, match=r"^B003: the store of runs '.*' cannot be opened"):
            begin(Store(path))
    finally:
        tmp_path.chmod(0o755)


def test_store_locked_by_another_is_told_and_stops_no_work(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("estimica.execute.runs.database.PATIENCE", 0.1)
    begin(store).close()
    with begin(store) as run:
        raw = sqlite3.connect(store.path, isolation_level=None)
        raw.execute("BEGIN IMMEDIATE")
        run.iteration(0, 1.0, {})
        run.flush()
        assert run.trouble.startswith("B004: the store of runs")
        assert "locked by another process for 0.1 s; try again" in run.trouble
        with pytest.raises(StoreError, match=r"^B004: "):
            begin(store)
        raw.execute("ROLLBACK")
        raw.close()
        run.flush()
        assert run.trouble == ""
    assert len(store.run(run.id).iterations) == 1


def test_thousand_iterations_cost_less_than_a_fifth_of_a_second(store: Store) -> None:
    payload = {"parameters": {f"p{k}": 0.1 * k for k in range(8)}, "step": 0.5}

    def seconds() -> float:
        with begin(store) as run:
            start = time.perf_counter()
            for k in range(1000):
                run.iteration(k, 1.0 / (k + 1), payload)
            run.finish(Status.DONE)
            return time.perf_counter() - start

    assert min(seconds() for _ in range(3)) < 0.2


def test_progress_and_page_are_kept_and_the_newest_counts(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.sqlite")
    with store.begin("bootstrap", name="b", study={}, settings={}) as writer:
        assert store.progress(writer.id) is None
        writer.progress(0.25, "1 of 4")
        writer.progress(None, "2 of ?")
        writer.flush()
        found = store.progress(writer.id)
        assert found is not None
        assert (found.share, found.text) == (None, "2 of ?")
        writer.keep_page({"title": "old"})
        writer.keep_page({"title": "new"})
        writer.iteration(0, 3.0, {})
        writer.iteration(1, 2.0, {})
    assert store.page(writer.id) == {"title": "new"}
    assert store.summary(writer.id).iterations == 2
    assert [i.cost for i in store.iterations(writer.id, after=0)] == [2.0]
    store.delete([writer.id])
    with store.begin("fit", name="b", study={}, settings={}) as other:
        assert store.page(other.id) is None


def test_a_store_of_version_1_is_read_and_renewed(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.sqlite")
    with store.begin("fit", name="old", study={}, settings={}) as old:
        pass
    for statement in (
        "DROP TABLE label",
        "DROP TABLE page",
        "DROP TABLE progress",
        "ALTER TABLE checkpoint DROP COLUMN checksum",
        "PRAGMA user_version = 1",
    ):
        changed(store, statement)
    assert store.page(old.id) is None
    assert store.progress(old.id) is None
    assert [r.id for r in store.runs()] == [old.id]
    with store.begin("fit", name="new", study={}, settings={}) as new:
        new.keep_page({"title": "page"})
    assert store.page(new.id) == {"title": "page"}


# --- a store from elsewhere ----------------------------------------------------------------------


def tampered(store: Store, *statements: str) -> Store:
    """The store after somebody wrote to it with SQLite itself."""
    begin(store).close()
    connection = sqlite3.connect(store.path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return store


USES: dict[str, Callable[[Store], object]] = {
    "runs": lambda store: store.runs(),
    "run": lambda store: store.run("last"),
    "summary": lambda store: store.summary("last"),
    "page": lambda store: store.page("last"),
    "progress": lambda store: store.progress("last"),
    "news": lambda store: store.news("0" * 11),
    "run_of": lambda store: store.run_of(1, 0.0),
    "delete": lambda store: store.delete(["last"]),
    "begin": lambda store: begin(store),
    "resume": lambda store: store.resume("last"),
}
IDS = ['x" :onclick="alert(1)', "../../x", "", "0", "0" * 12, "0000000000A", "00000\n00000", "a'b"]


@pytest.mark.parametrize("use", USES)
def test_an_id_that_is_not_ours_is_never_returned(store: Store, use: str) -> None:
    tampered(store, "UPDATE run SET id = 'x\"\x1b :onclick=\"alert(1)'")
    with pytest.raises(StoreError, match=r"B031: .*not written by Estimica alone") as told:
        USES[use](store)
    assert "\x1b" not in str(told.value)


@pytest.mark.parametrize("name", IDS)
def test_only_our_alphabet_makes_an_id(store: Store, name: str) -> None:
    assert not is_run_id(name)
    begin(store).close()
    connection = sqlite3.connect(store.path)
    connection.execute("UPDATE run SET id = ?", (name,))
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match=r"B031"):
        store.runs()


def test_new_ids_are_ids() -> None:
    assert all(is_run_id(new_run_id(now)) for now in (0.0, 1.7e9, time.time(), 2.7e9))
    assert not is_run_id(None)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW more AS SELECT * FROM run",
        "CREATE TRIGGER t AFTER DELETE ON run BEGIN DELETE FROM iteration; END",
    ],
)
def test_a_store_that_computes_is_refused(store: Store, statement: str) -> None:
    tampered(store, statement)
    with pytest.raises(StoreError, match=r"B031"):
        store.runs()


@pytest.mark.parametrize(
    ("column", "value"), [("status", "'odd'"), ("started", "'<img>'"), ("name", "x'00'"),
                          ("cost", "'much'"), ("pid", "'one'")],
)  # fmt: skip
def test_a_run_of_wrong_kinds_is_told(store: Store, column: str, value: str) -> None:
    tampered(store, f"UPDATE run SET {column} = {value}")
    with pytest.raises(StoreError, match=f"B032: run '.*' is damaged: its {column} is"):
        store.runs()


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
@pytest.mark.parametrize("linked", ["folder", "file", "-wal", "-shm", "-journal", "missing"])
@pytest.mark.parametrize("use", ["runs", "run", "begin"])
def test_a_store_beside_a_study_does_not_follow_links_elsewhere(
    tmp_path: Path, linked: str, use: str
) -> None:
    elsewhere = Store.beside(tmp_path / "elsewhere")
    elsewhere.path.parent.mkdir(parents=True)
    begin(elsewhere).close()
    folder = tmp_path / "study"
    folder.mkdir()
    store = Store.beside(folder)
    if linked == "folder":
        store.path.parent.symlink_to(elsewhere.path.parent)
    else:
        store.path.parent.mkdir()
        ending = linked if linked.startswith("-") else ""
        aim = tmp_path / "new" if linked in ("missing", "-wal") else elsewhere.path
        Path(f"{store.path}{ending}").symlink_to(aim)
    with pytest.raises(StoreError, match=r"B030: .* is a link that leads elsewhere"):
        USES[use](store)
    assert not (tmp_path / "new").exists()
    assert len(elsewhere.runs()) == 1
    noted = store.begin_if_possible("fit", name="a", study={}, settings={})
    assert not noted.id
    assert len(Store(elsewhere.path).runs()) == 1  # named by oneself it is


@pytest.mark.skipif(sys.platform == "win32", reason="there are none")
def test_a_store_that_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", Path("/dev/zero")):
        for use in (lambda p: Store(p).runs(), lambda p: begin(Store(p))):
            with pytest.raises(StoreError, match=r"B003: .*it is not a file"):
                use(path)


# --- what a result depends on --------------------------------------------------------------------


def test_the_fingerprint_of_a_model_does_not_tell_where_its_class_is_defined(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def model_code(study: Study) -> str:
        return fingerprint(study)["the model"]

    study = Study(formula_model({"y": "a*x"}, inputs=["x"]), (), ())
    before = model_code(study)
    module = ModuleType("estimica.elsewhere")
    kind = type(study.model)
    setattr(module, kind.__name__, kind)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(kind, "__module__", module.__name__)
    assert model_code(study) == before
    other = Study(formula_model({"y": "2*a*x"}, inputs=["x"]), (), ())
    assert model_code(other) != before
