"""A command ends at once, and what others want done at its end is done before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

#: takes the place of the command line: (what it does, the status of the process)
MAINS = {
    "nothing": ("", 0),
    "no status": ("raise SystemExit", 0),
    "a status": ("raise SystemExit(3)", 3),
    "interrupted": ("raise SystemExit(130)", 130),
    "true": ("raise SystemExit(True)", 1),
    "beyond what shells know": ("raise SystemExit(-1)", 255),
    "a text": ("raise SystemExit('told')", 1),
    "an error": ("raise ValueError('ours')", 1),
}
PROGRAM = """
import atexit, sys, threading, time
from pathlib import Path
from estimica.apps.cli import process

folder = Path(sys.argv[1])

def late():
    time.sleep(0.05)
    (folder / "thread").touch()

def main():
    atexit.register((folder / "handler").touch)
    threading.Thread(target=late).start()
    print("x" * 100_000)
    {what}

process.main = main
process.run()
"""


@pytest.mark.parametrize("case", MAINS)
def test_threads_handlers_and_streams_come_to_their_end(case: str, tmp_path: Path) -> None:
    what, status = MAINS[case]
    program = PROGRAM.replace("{what}", what)
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == status
    assert done.stdout == "x" * 100_000 + "\n"
    assert {f.name for f in tmp_path.iterdir()} == {"handler", "thread"}
    assert ("told" in done.stderr) == (case == "a text")
    assert ("Traceback" in done.stderr) == (case == "an error")


def test_python_takes_nothing_apart(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from estimica.apps.cli import process\n"
        "class Kept:\n"
        "    def __del__(self): print('taken apart')\n"
        "sys.kept = Kept()\n"
        "process.main = lambda: None\n"
        "process.run()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
