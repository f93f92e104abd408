"""TrustedCode: what was read, hashed and agreed to is what runs, and nothing else of the folder."""

from __future__ import annotations

import importlib.util
import os
import pickle
import py_compile
import shutil
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from estimica.base.code.consent import NamedCode, code_guard
from estimica.base.code.reference import CodeRefusedError, code_reference, means_code
from estimica.base.code.run import run_code
from estimica.base.code.trusted import CodeMissingError, TrustedCode, trusted_code
from estimica.base.errors import StudyError

WHY = "is not part of what was agreed to"


class Agreeing:
    """A guard that agrees to some hashes."""

    def __init__(self, *codes: TrustedCode) -> None:
        self.hashes = {file.sha256 for code in codes for file in code.files}

    def admit(self, study: Path, tables: object, codes: Sequence[NamedCode]) -> None:
        """Nothing to do."""

    def require_agreed(self, codes: Sequence[NamedCode]) -> None:
        if any(code.sha256 not in self.hashes for code in codes):
            raise StudyError("Q053", "not agreed")


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / (name.replace("__in__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def value(code: TrustedCode) -> object:
    return run_code(code).names["value"]()


def main(imports: str) -> str:
    return f"def value():\n    {imports}\n    return N\n"


@pytest.mark.parametrize(
    ("text", "file", "function"),
    [
        ("own.py:f", "own.py", "f"),
        ("own.py", "own.py", ""),
        ("odd:name.py:f", "odd:name.py", "f"),
        ("../up/own.py:f", "../up/own.py", "f"),
        ("with space.py:größe", "with space.py", "größe"),
    ],
)
def test_a_reference_is_a_file_and_a_function(text: str, file: str, function: str) -> None:
    found = code_reference(text)
    assert (found.file, found.function) == (file, function)
    assert means_code(text)


@pytest.mark.parametrize(
    "text",
    [
        "own.py:f\n",
        " own.py",
        "own.py :f",
        "own.py::f",
        "own.py:f.g",
        "own.py:",
        "own.py/",
        ".py",
        "OWN.PY",
        "own\uff0epy:f",
        "own.pyc:f",
        "a.py:b.py",
        "x/.py:f",
        "own.py\x00:f",
        "own.py\u2029:f",
    ],
)
def test_what_means_code_but_is_oddly_spelt_is_refused(text: str) -> None:
    assert means_code(text)
    with pytest.raises(CodeRefusedError):
        code_reference(text)


@pytest.mark.parametrize("text", ["oe", "residual^2", "Model.mo", "K/(1 + T*s)", "a.pyramid", ""])
def test_other_texts_mean_no_code(text: str) -> None:
    assert not means_code(text)


def test_long_texts_are_looked_at_in_no_time() -> None:
    for odd in (" ", "/", ".", ".py", ".py "):
        means_code(".py" + odd * 200_000 + "x")


def test_a_folder_that_leads_to_a_large_tree_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("estimica.base.code.trusted.LOOKED_AT", 50)
    write(tmp_path, own=main("from big.n3 import N"))
    write(tmp_path, **{f"big__in__d{k}__in__n{k}": "N = 1\n" for k in range(100)})
    assert len(trusted_code("own.py", tmp_path).files) <= 51


def test_names_that_rule_a_terminal_are_told_in_one_line(tmp_path: Path) -> None:
    code = NamedCode("[model] \x1b[2Jsource", "a\n\u202eb.py", tmp_path, "Python", "0" * 64)
    assert code.text.isprintable()


def test_edits_after_the_reading_do_not_run(tmp_path: Path) -> None:
    write(tmp_path, own=main("from helper import N"), helper="N = 1\n")
    code = trusted_code("own.py:value", tmp_path)
    write(tmp_path, own="1/0\n", helper="1/0\n", added="1/0\n")
    assert value(code) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_that_is_swapped_after_the_reading_does_not_run(tmp_path: Path) -> None:
    write(tmp_path, good=main("N = 1"), bad="1/0\n")
    (tmp_path / "own.py").symlink_to("good.py")
    code = trusted_code("own.py:value", tmp_path)
    (tmp_path / "own.py").unlink()
    (tmp_path / "own.py").symlink_to("bad.py")
    assert value(code) == 1
    assert code.entry.path == (tmp_path / "good.py").resolve()


def test_a_compilation_without_its_source_is_not_imported(tmp_path: Path) -> None:
    write(tmp_path, own=main("from gone import N"), gone="N = 1\n")
    py_compile.compile(str(tmp_path / "gone.py"), cfile=str(tmp_path / "gone.pyc"))
    (tmp_path / "gone.py").unlink()
    with pytest.raises(ImportError, match=f"'gone' in .* {WHY}: only modules that stand as .py"):
        value(trusted_code("own.py", tmp_path))


def test_a_stored_compilation_alone_is_not_imported(tmp_path: Path) -> None:
    write(tmp_path, own=main("from gone import N"), gone="N = 1\n")
    py_compile.compile(str(tmp_path / "gone.py"))
    (tmp_path / "gone.py").unlink()
    with pytest.raises(ImportError, match=WHY):
        value(trusted_code("own.py", tmp_path))


def test_a_compilation_in_a_package_is_not_imported(tmp_path: Path) -> None:
    write(
        tmp_path, own=main("from pack.gone import N"), pack__in____init__="", pack__in__gone="N=1"
    )
    py_compile.compile(str(tmp_path / "pack/gone.py"), cfile=str(tmp_path / "pack/gone.pyc"))
    (tmp_path / "pack" / "gone.py").unlink()
    with pytest.raises(ImportError, match=f"'pack.gone' in .* {WHY}"):
        value(trusted_code("own.py", tmp_path))


def test_modules_above_a_package_are_read_with_it(tmp_path: Path) -> None:
    write(
        tmp_path,
        own=main("from pack.inner import N"),
        pack__in____init__="from .. import third\n",
        pack__in__inner="import helper\nfrom ..second import TWO\nN = helper.ONE + TWO\n",
        helper="ONE = 1\n",
        second="TWO = 2\n",
        third="",
        unused="1/0\n",
    )
    code = trusted_code("own.py", tmp_path)
    names = {"own", "helper", "second", "third", "pack/__init__", "pack/inner"}
    assert {file.name for file in code.files} == {f"{name}.py" for name in names}
    assert value(code) == 3


def test_imports_do_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    write(tmp_path, outside="1/0\n", in__in__own=main("from ..outside import N"))
    with pytest.raises(ImportError, match="beyond top-level package"):
        value(trusted_code("own.py", tmp_path / "in"))


def test_what_is_put_into_a_package_later_is_not_imported(tmp_path: Path) -> None:
    write(tmp_path, own=main("from plain.late import N"), plain__in__part="N = 7\n")
    code = trusted_code("own.py", tmp_path)
    write(tmp_path, plain__in__late="1/0\n")
    with pytest.raises(ImportError, match=f"'plain.late' in .* {WHY}"):
        value(code)


@pytest.mark.parametrize("how", ["__import__('helper').N", "import_module('helper').N"])
def test_what_no_import_statement_names_is_not_imported(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"from importlib import import_module\ndef value():\n    return {how}\n"
    write(tmp_path, own=text, helper="N = 1\n")
    code = trusted_code("own.py", tmp_path)
    assert [file.name for file in code.files] == ["own.py"]
    for entry in (str(tmp_path), ""):  # as `python` without -P has it, and `python -m`
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "path", [entry, *sys.path])
        with code_guard(Agreeing(code)), pytest.raises(ImportError, match=WHY):
            value(code)
    assert "helper" not in sys.modules


def test_an_archive_that_code_puts_on_the_path_is_not_imported(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "more.zip", "w") as archive:
        archive.writestr("zipped_helper.py", "N = 1\n")
    way = "import sys; sys.path.insert(0, __file__[:-6] + 'more.zip'); from zipped_helper import N"
    write(tmp_path, own=main(way))
    code = trusted_code("own.py", tmp_path)
    before = list(sys.path)
    try:
        with code_guard(Agreeing(code)), pytest.raises(ImportError, match=WHY):
            value(code)
    finally:
        sys.path[:] = before


def test_installed_modules_are_imported_though_a_file_is_called_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, own=main("N = __import__('colorsys').rgb_to_hsv(1, 1, 1)[2]"), colorsys="1/0\n")
    code = trusted_code("own.py", tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with code_guard(Agreeing(code)):
        assert value(code) == 1


def test_native_code_is_loaded_from_the_bytes_that_were_read(tmp_path: Path) -> None:
    spec = importlib.util.find_spec("markupsafe._speedups")
    if spec is None or spec.origin is None:
        pytest.skip("no extension module to copy")
    native = Path(shutil.copy(spec.origin, tmp_path))
    write(tmp_path, own=main("import _speedups; N = _speedups.__file__"))
    code = trusted_code("own.py", tmp_path)
    assert [f.is_python for f in code.files] == [True, False]
    before = native.read_bytes()
    native.write_bytes(b"not native code at all")
    loaded = Path(str(value(code)))
    assert not loaded.is_relative_to(tmp_path)
    assert loaded.read_bytes() == before
    assert loaded.parent.stat().st_mode & 0o077 == 0 or os.name == "nt"


def test_the_same_code_is_pickled_alike_whatever_was_asked_of_it(tmp_path: Path) -> None:
    """Runs that are taken up again compare what they depend on by its pickle."""
    write(tmp_path, own=main("from helper import N"), helper="N = 1\n")
    one, two = (trusted_code("own.py", tmp_path) for _ in range(2))
    assert value(one) == 1
    assert one.sha256 == two.sha256
    assert pickle.dumps(one) == pickle.dumps(trusted_code("own.py", tmp_path))
    assert pickle.loads(pickle.dumps(one)) == one


def test_only_content_that_was_agreed_to_runs(tmp_path: Path) -> None:
    write(tmp_path, own=main("from helper import N"), helper="N = 1\n")
    agreed = trusted_code("own.py", tmp_path)
    with code_guard(Agreeing(agreed)):
        assert value(agreed) == 1
        write(tmp_path, helper="N = 2\n")
        with pytest.raises(StudyError, match="Q053"):
            run_code(trusted_code("own.py", tmp_path))


def test_folders_pipes_loops_and_missing_files_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "dir.py").mkdir()
    (tmp_path / "dir.py" / "__main__.py").write_text("1/0\n")
    with pytest.raises(CodeRefusedError, match=r"'dir\.py' is a folder"):
        trusted_code("dir.py", tmp_path)
    with pytest.raises(CodeMissingError, match=r"there is no file 'none\.py'"):
        trusted_code("none.py:f", tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.py")
        (tmp_path / "loop.py").symlink_to("loop.py")
        for name in ("pipe.py", "loop.py", "/dev/zero.py/../../dev/stdin.py"):
            with pytest.raises(CodeRefusedError):
                trusted_code(name, tmp_path)
