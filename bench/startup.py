"""How long commands take before and after their work: CPU seconds of fresh processes, warm caches.

    python bench/startup.py [--repeats N] [SRC ...]

For each source tree SRC (a folder that holds `estimica`; by default that of the package installed)
the median and the least CPU time (user and system) of: the interpreter alone, `estimica --help`,
the first `load_model` of the drum boiler, and `estimica fit` of it. Trees take turns, so that a
busy machine disturbs all alike; with several, the last column is the ratio to the first.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

LOAD = "import estimica as es; es.load_model('DrumBoiler.mo')"
COMMANDS = {
    "python": ("-c", "pass"),
    "help": ("-m", "estimica", "--help"),
    "load_model": ("-c", LOAD),
    "fit": ("-m", "estimica", "fit", "boiler.toml", "--no-store"),
}


def cpu_seconds(command: tuple[str, ...], folder: Path, tree: str) -> float:
    """Of one fresh process and what it has started."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPATH": tree} if tree else {}
    done = subprocess.run(
        [sys.executable, "-P", *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("trees", nargs="*", default=[""])
    parser.add_argument("--repeats", type=int, default=7)
    given = parser.parse_args()
    trees = [str(Path(tree).resolve()) if tree else "" for tree in given.trees]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cpu_seconds(
            ("-m", "estimica", "demo", "--files", ".", "--report", "r.html"), folder, trees[0]
        )
        print(f"{'CPU s':12}{'tree':>6}{'median':>9}{'least':>9}{'ratio':>9}")
        for what, command in COMMANDS.items():
            for tree in trees:
                cpu_seconds(command, folder, tree)  # warms the caches
            times: list[list[float]] = [[] for _ in trees]
            for _ in range(given.repeats):
                for own, tree in zip(times, trees, strict=True):
                    own.append(cpu_seconds(command, folder, tree))
            for k, own in enumerate(times):
                ratio = min(own) / min(times[0])
                print(f"{what:12}{k:6}{statistics.median(own):9.3f}{min(own):9.3f}{ratio:9.2f}")


if __name__ == "__main__":
    main()
