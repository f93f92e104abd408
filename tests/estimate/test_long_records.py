"""Fits to long records: what is stored and reported of them needs little more memory."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.signal import lfilter

import estimica as es
from estimica.base.view_json import page_to_json
from estimica.data.writers import write_table
from estimica.report.html import page_html

COLUMNS = 10
MORE = 1.5  # times the memory of a fit that is neither stored nor reported


def made(folder: Path, samples: int) -> Path:
    """A lag with ten outputs, and a record of so many samples."""
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(1)
    u = np.repeat(rng.standard_normal(samples // 50 + 1), 50)[:samples]
    a = np.exp(-0.1 / 3.0)
    x = lfilter([0, 1 - a], [1, -a], u)
    columns = {"time": np.arange(samples) * 0.1, "u": u}
    for k in range(1, COLUMNS + 1):
        columns[f"y{k}"] = k * x + 0.1 * rng.standard_normal(samples)
    write_table(folder / "record.parquet", columns)
    outputs = [f"y{k}" for k in range(1, COLUMNS + 1)]
    (folder / "Lag.mo").write_text(
        "model Lag input Real u; parameter Real T = 2; parameter Real k = 1;\n"
        "Real x(start = 0, fixed = true);\n"
        + "".join(f"output Real {y};\n" for y in outputs)
        + "equation T*der(x) = k*u - x;\n"
        + "".join(f"{y} = {k}*x;\n" for k, y in enumerate(outputs, 1))
        + "end Lag;",
        encoding="utf-8",
    )
    named = ", ".join(f'{y} = "{y}"' for y in outputs)
    path = folder / "lag.toml"
    path.write_text(
        '[model]\nsource = "Lag.mo"\n[tune]\nT = { start = 2, min = 0.1, max = 50 }\n'
        'k = { start = 0.8, min = 0.01, max = 10 }\n[[case]]\nname = "long"\n'
        f'data = "record.parquet"\ntime = "time"\ninputs = {{ u = "u" }}\noutputs = {{ {named} }}\n',
        encoding="utf-8",
    )
    return path


def most_held(reset: bool = False) -> float:
    """Most memory that this process has held, in bytes, since it was asked to forget."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (most,) = (line.split()[1] for line in lines if line.startswith("VmHWM"))
    return float(most) * 1024


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_the_page_of_a_long_record_needs_little_memory(tmp_path: Path) -> None:
    samples = 100_000
    path = made(tmp_path, samples)
    es.residuals  # noqa: B018  # its section belongs to the page
    page_html(es.fit(es.read_study(made(tmp_path / "small", 100))).page())  # imports and compiles
    found = es.fit(es.read_study(path))
    gc.collect()
    before = most_held(reset=True)
    kept = page_to_json(found.page())
    more = most_held() - before
    assert len(found.iterations) > 3
    assert more < 10 * 8 * samples * (COLUMNS + 2), f"{more / 1e6:.0f} MB"
    assert len(str(kept)) < 3e6
    assert "smallest and largest of every stretch" in str(kept)  # what a reader has to know


def test_a_short_record_is_drawn_whole_and_says_nothing_of_it(tmp_path: Path) -> None:
    found = es.fit(es.read_study(made(tmp_path, 100)))
    assert "of every stretch" not in page_html(found.page())


@pytest.mark.slow
def test_a_stored_and_reported_fit_needs_little_more_memory(tmp_path: Path) -> None:
    path = made(tmp_path, 2_000_000)
    alone = peak_of("fit", str(path), "--no-store", "--quiet")
    both = peak_of("fit", str(path), "--report", str(tmp_path / "r.html"), "--quiet")
    assert both < MORE * alone, f"{both:.0f} MB against {alone:.0f} MB"
    assert (tmp_path / ".estimica" / "runs.sqlite").stat().st_size < 2e6
    assert (tmp_path / "r.html").stat().st_size < 5e6


def peak_of(*arguments: str) -> float:
    """Most memory that a command of its own process has held, in MB."""
    script = (
        "import resource, subprocess, sys\n"
        "subprocess.run([sys.executable, '-m', 'estimica', *sys.argv[1:]], check=True,\n"
        "               stdout=subprocess.DEVNULL)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )  # fmt: skip
    return float(done.stdout)
