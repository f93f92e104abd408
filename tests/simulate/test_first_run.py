"""The first run on a computer, which compiles the engine, and the next give the same bits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import hashlib, numpy, estimica
model = estimica.load_model('''model Robertson
  parameter Real k = 1e4;
  Real x(start = 1, fixed = true); Real y(start = 0, fixed = true); Real a[8](each start = 1);
equation
  der(x) = -0.04*x + k*y*(1 - x - y);
  der(y) = 0.04*x - k*y*(1 - x - y) - 3e7*y*y;
  for i in 1:8 loop der(a[i]) = -sum(a)*a[i]*i + sin(time*i) - (a[i] - 0.3*i); end for;
end Robertson;''')
found = model.simulate(numpy.linspace(0, 3, 100), parameters={"k": 9e3})
print(hashlib.sha256(b"".join(found.value(n).tobytes() for n in ("x", "y", "a[3]"))).hexdigest())
"""


@pytest.mark.slow
def test_compiling_run_and_the_next_give_the_same_bits(tmp_path: Path) -> None:
    runs = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        for _ in range(2)
    ]
    assert ["compiling the engine" in run.stderr for run in runs] == [True, False]
    assert runs[0].stdout == runs[1].stdout
