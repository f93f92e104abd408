"""A user's files go through one door: regular ones only, up to a size, and nothing is waited for."""

from __future__ import annotations

import os
import re
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import estimica
from estimica.base.errors import EstimicaError, SourceError
from estimica.base.files.read import open_file, read_bytes, read_text
from estimica.data.readers import read_data
from estimica.simulate.fmu.archive import unpack_fmu
from estimica.source.load import load_flat
from estimica.study.file.read import examine_file, read_study
from estimica.study.file.trust import Trust, untrusted_code
from estimica.study.form.labels import FILE_NAME, read_labels

LINUX = sys.platform.startswith("linux")
SRC = Path(estimica.__file__).parent


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        here = os.getcwd()
        os.chdir(path.parent)  # the name of a socket has at most 108 bytes
        try:
            made.bind(path.name)
        finally:
            os.chdir(here)


def _leads_to(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(target)


def _linked_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


ODD = {
    "pipe": (_pipe, "a pipe"),
    "link to a pipe": (_linked_pipe, "a pipe"),
    "socket": (_socket, "a socket"),
    "endless device": (_leads_to("/dev/zero"), "a device"),
    "terminal": (_leads_to("/dev/tty"), "a device"),
    "file of /proc": (_leads_to("/proc/self/environ"), "a file of the kernel"),
    "file of /sys": (_leads_to("/sys/kernel/notes"), "a file of the kernel"),
}
READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "text table": ("a.csv", read_data),
    "impedance": ("a.z", read_data),
    "parquet": ("a.parquet", read_data),
    "excel": ("a.xlsx", read_data),
    "old excel": ("a.xls", read_data),
    "matlab": ("a.mat", read_data),
    "study": ("a.toml", read_study),
    "modelica": ("a.mo", load_flat),
    "base modelica": ("a.bmo", load_flat),
    "fmu": ("a.fmu", unpack_fmu),
    "labels": (FILE_NAME, lambda path: read_labels(path.parent)),
    "library": ("Lib.mo", lambda path: load_flat("model M Lib.A a; end M;", libraries=[path])),
}


@pytest.mark.skipif(not LINUX, reason="makes files as Linux has them")
@pytest.mark.parametrize("odd", ODD)
def test_only_regular_files_are_opened(odd: str, tmp_path: Path) -> None:
    make, kind = ODD[odd]
    if odd == "file of /sys" and not Path("/sys/kernel/notes").exists():
        pytest.skip("this system has no such file")
    make(tmp_path / "a")
    with pytest.raises(OSError, match=f"it is {kind}, and only regular files are read; copy"):
        open_file(tmp_path / "a")


@pytest.mark.skipif(not LINUX, reason="makes files as Linux has them")
@pytest.mark.parametrize("odd", ["link to a pipe", "endless device", "file of /proc"])
@pytest.mark.parametrize("reader", READERS)
def test_no_reader_waits_for_what_is_not_a_file(reader: str, odd: str, tmp_path: Path) -> None:
    name, read = READERS[reader]
    ODD[odd][0](tmp_path / name)
    with pytest.raises(EstimicaError):  # and not a wait without end
        read(tmp_path / name)


@pytest.mark.skipif(not LINUX, reason="makes files as Linux has them")
def test_an_odd_study_names_no_code_and_trusts_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.toml")
    os.mkfifo(tmp_path / "trusted.json")
    assert untrusted_code(tmp_path / "a.toml") == ()
    assert Trust(tmp_path / "trusted.json")._entries() == {}


def test_a_folder_and_a_name_that_no_file_has_are_told(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        open_file(tmp_path)
    with pytest.raises(OSError, match="its name holds a character that no file has"):
        open_file("a\0b")
    with pytest.raises(SourceError, match="S001"):
        load_flat("a" * 5000 + ".mo")


def test_a_long_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "a.toml").open("wb") as file:
        file.truncate(10**11)  # takes no room on the disk
    (problem,) = examine_file(tmp_path / "a.toml").problems
    assert problem.text.endswith("it has 100 GB, and at most 2 MB are read")
    with pytest.raises(OSError, match="it has 100 GB, and at most 20 MB are read"):
        read_bytes(tmp_path / "a.toml")


def test_lines_end_alike(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfa\r\nb\rc\n")
    assert read_text(tmp_path / "a", "utf-8-sig") == "a\nb\nc\n"


def test_files_of_users_have_one_door() -> None:
    """Other reads are of files that Estimica has written or brings along."""
    own = {
        "apps/cli/demo/boiler.py",  # comes with the package
        "apps/cli/commands/design/live_page.py",  # written by the run
        "apps/web/downloads.py",  # written a moment before
        "apps/web/jobs/job.py",  # printed by a run
        "base/files/read.py",  # the lock of the door
        "simulate/fmu/archive.py",  # what it has unpacked itself
        "compiled/llvm/object_files.py",  # its own code
        "execute/runs/process_identity.py",  # of the system
        "report/html.py",  # comes with the package
        "simulate/engine/units.py",  # its own code
        "simulate/ensemble/cuda/build.py",  # comes with the package
        "source/base_modelica/parser.py",  # comes with the package
        "source/cache.py",
        "source/limits.py",  # of the system
    }
    reads = re.compile(r"\.read_(text|bytes)\(|\bopen\([^)]*\"r?b\"|tomllib\.loads?\(")
    found = {
        file.relative_to(SRC).as_posix()
        for file in SRC.rglob("*.py")
        for line in file.read_text(encoding="utf-8").splitlines()
        if reads.search(line)
    }
    assert found - own - {"base/files/toml.py"} == set()
