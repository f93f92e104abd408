"""One thread for linear algebra, also in libraries that are loaded meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import sys
from threadpoolctl import threadpool_info
from estimica.execute.threads import one_thread

def threads():
    return max(x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas")

with one_thread():
    assert "scipy.linalg" not in sys.modules
    import scipy.linalg
    inside = threads()
outside = threads()
with one_thread():
    again = threads()
print(inside, outside, again)
"""


def test_a_library_that_is_loaded_inside_has_one_thread_and_its_own_number_afterwards() -> None:
    variables = {n: v for n, v in os.environ.items() if not n.endswith("_NUM_THREADS")}
    variables["OPENBLAS_NUM_THREADS"] = "2"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, env=variables
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1", "2", "1"]
