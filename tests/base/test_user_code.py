"""Python files of studies: each has its own modules, and the ones that are there now."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from estimica.base.code import run as user_code
from estimica.base.code.run import LoadedCode, run_code
from estimica.base.code.trusted import trusted_code

MAIN = "import helper\n\ndef value():\n    return helper.NUMBER\n"


def run_file(path: Path) -> LoadedCode:
    return run_code(trusted_code(path.name, path.parent))


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / (name.replace("__in__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder / "main.py"


def test_two_folders_have_a_helper_each(tmp_path: Path) -> None:
    first = write(tmp_path / "a", main=MAIN, helper="NUMBER = 1\n")
    second = write(tmp_path / "b", main=MAIN, helper="NUMBER = 2\n")
    one, two = run_file(first).names["value"], run_file(second).names["value"]
    assert (one(), two(), one()) == (1, 2, 1)
    assert "helper" not in sys.modules


def test_a_helper_that_changed_is_read_anew_even_within_a_second(tmp_path: Path) -> None:
    path = write(tmp_path, main=MAIN, helper="NUMBER = 1\n")
    old = run_file(path).names["value"]
    before = (tmp_path / "helper.py").stat()
    (tmp_path / "helper.py").write_text("NUMBER = 2\n")  # as long as before
    os.utime(tmp_path / "helper.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert run_file(path).names["value"]() == 2
    assert old() == 1  # what was read stays as it was


def test_a_helper_of_a_helper_that_changed_is_read_anew(tmp_path: Path) -> None:
    path = write(tmp_path, main=MAIN, helper="from deep import NUMBER\n", deep="NUMBER = 1\n")
    assert run_file(path).names["value"]() == 1
    (tmp_path / "deep.py").write_text("NUMBER = 2\n")
    assert run_file(path).names["value"]() == 2


def test_a_helper_that_did_not_change_is_run_once(tmp_path: Path) -> None:
    path = write(tmp_path, main=MAIN, helper="NUMBER = object()\n")
    assert run_file(path).names["value"]() is run_file(path).names["value"]()


def test_packages_and_relative_imports_work(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main="import pack.inner\nfrom pack import THREE\nfrom pack.inner import four as f\n"
        "from .beside import FIVE\n\ndef value():\n    return THREE, f(), pack.inner.four(), FIVE\n",
        pack__in____init__="from .inner import three\nTHREE = three()\n",
        pack__in__inner="from . import numbers\nimport pack.numbers as same\n"
        "def three():\n    return numbers.N - 1\ndef four():\n    return same.N\n",
        pack__in__numbers="N = 4\n",
        beside="FIVE = 5\n",
    )
    assert run_file(path).names["value"]() == (3, 4, 4, 5)


def test_a_folder_without_init_is_a_package_unless_one_is_installed(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main="import json\nfrom plain.part import N\n\ndef value():\n    return json.dumps(N)\n",
        plain__in__part="N = 7\n",
        json__in__not_this="1 / 0\n",
    )
    assert run_file(path).names["value"]() == "7"


def test_an_import_within_a_function_is_the_studys_too(tmp_path: Path) -> None:
    main = "def value():\n    import helper\n    return helper.NUMBER\n"
    one = run_file(write(tmp_path / "a", main=main, helper="NUMBER = 1\n")).names["value"]
    two = run_file(write(tmp_path / "b", main=main, helper="NUMBER = 2\n")).names["value"]
    assert (one(), two()) == (1, 2)


def test_a_neighbour_called_like_an_installed_module_is_the_studys_alone(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main="import statistics, random\nvalue = statistics.mean, random.random\n",
        statistics="def mean():\n    return 'own'\n",
    )
    mean, _ = run_file(path).names["value"]
    import statistics

    assert mean() == "own"
    assert statistics.mean([1, 3]) == 2


def test_a_module_of_the_program_is_not_the_studys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import types

    mine = types.ModuleType("helper")
    monkeypatch.setitem(sys.modules, "helper", mine)
    path = write(tmp_path, main=MAIN, helper="NUMBER = 1\n")
    assert run_file(path).names["value"]() == 1
    assert sys.modules["helper"] is mine


def test_dataclasses_and_circular_imports_work(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        main="from __future__ import annotations\nfrom dataclasses import dataclass\nimport helper\n"
        "@dataclass\nclass P:\n    a: int = 1\n\ndef value():\n    return P().a + helper.N\n",
        helper="import other\nN = 2\ndef back():\n    return other.twice()\n",
        other="import helper\ndef twice():\n    return 2 * helper.N\n",
    )
    assert run_file(path).names["value"]() == 3


def test_the_code_is_enough_for_another_machine(tmp_path: Path) -> None:
    write(tmp_path / "here", main=MAIN, helper="NUMBER = 6\n")
    code = trusted_code("main.py", tmp_path / "here")
    assert {f.name: f.text for f in code.files} == {"main.py": MAIN, "helper.py": "NUMBER = 6\n"}
    sent = pickle.loads(pickle.dumps(code))
    shutil.rmtree(tmp_path / "here")
    assert run_code(sent).names["value"]() == 6


def test_many_readings_do_not_pile_up_modules(tmp_path: Path) -> None:
    path = tmp_path / "main.py"
    values = []
    for k in range(user_code.MOST_SPACES + 10):
        write(tmp_path, main=f"{MAIN}# {k}\n", helper=f"NUMBER = {k}\n")
        values.append(run_file(path).names["value"])
    own = [m for m in sys.modules if m.startswith("estimica user code")]
    assert len(own) <= 3 * user_code.MOST_SPACES
    assert [v() for v in values] == list(range(len(values)))


def test_code_that_ends_the_program_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path, main="import sys\nsys.exit(3)\n")
    with pytest.raises(RuntimeError, match=r"it ends the program \(sys\.exit\(3\)\)"):
        run_file(path)


def test_a_helper_that_is_missing_is_told_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(ModuleNotFoundError, match="No module named 'helper'"):
        run_file(write(tmp_path, main=MAIN))


def test_nothing_is_written_beside_the_study(tmp_path: Path) -> None:
    run_file(write(tmp_path, main=MAIN, helper="NUMBER = 1\n"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["helper.py", "main.py"]


def test_a_stored_compilation_is_not_run(tmp_path: Path) -> None:
    path = write(tmp_path, main=MAIN, helper="NUMBER = 1\n")
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(tmp_path)], check=True)
    (tmp_path / "helper.py").write_text("NUMBER = 2\n")
    assert run_file(path).names["value"]() == 2
