"""The classes of a library, simulated and compared with the results of another tool.

    python bench/library_campaign.py REFERENCES --out results.json [--library FOLDER]

REFERENCES is a folder of reference results, as the repository modelica/MAP-LIB_ReferenceResults has
them: a folder for each class with `comparisonSignals.txt` and a table of the curves, named like the
class; or a folder of texts that BuildingsPy has written, within its library
(LIBRARY/Resources/ReferenceResults/TOOL). The library is looked for on MODELICAPATH unless
`--library` names a folder.

Each class has a process of its own. Its verdict is one of: agrees, missing signals, deviates,
stops, refused, traceback, crash, memory limit, time limit, no reference. Results are kept after
each class: Ctrl-C ends the campaign and `--resume` goes on with it, or only writes summary and
table when nothing is left to do. The times of loading are those of the cache as it is;
ESTIMICA_CACHE names another folder.

Settings of a run: the times are those of the table, the relative tolerance is the smaller one of
1e-6 and what the class asks for.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import sys
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any

from campaign import attempt
from campaign.outcome import VERDICTS, Outcome, read_outcomes, write_outcomes
from campaign.page import write_page
from campaign.process import Limits, Settings, in_process
from campaign.reference import classes, place
from campaign.summary import changes, summary

SCRIPT = Path(__file__).resolve()


def main() -> int:
    """Run what the command line asks for; 1 where something that agreed before does not now."""
    if sys.argv[1:2] == ["--attempt"]:
        attempt.main(sys.argv[2])
        return 0
    given = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    outcomes = read_outcomes(given.out) if given.resume and given.out.exists() else {}
    again = tuple(v.strip() for v in given.again.split(",") if v)
    names = list(_chosen(given))
    left = [n for n in names if n not in outcomes or outcomes[n].verdict in again]
    about = _about(given)
    complete = _run(left, given, outcomes, about)
    chosen = {n: outcomes[n] for n in names if n in outcomes}
    print("", *summary(chosen, given.apart), sep="\n")
    if given.table:
        write_page(given.table, chosen, about, _reasons(given.causes))
        print(f"written: {given.table}")
    if given.against:
        old = read_outcomes(given.against)
        print("", f"beside {given.against}:", *changes(old, chosen), sep="\n")
        lost = [n for n in chosen if n in old and old[n].verdict == "agrees"]
        if any(chosen[n].verdict != "agrees" for n in lost):
            return 1
    return 0 if complete else 130


def _run(
    names: Sequence[str],
    given: argparse.Namespace,
    outcomes: dict[str, Outcome],
    about: dict[str, Any],
) -> bool:
    """Try the classes, `jobs` at a time, and keep each outcome; False where Ctrl-C was the end."""
    settings = Settings(
        SCRIPT,
        given.references,
        given.library,
        Limits(given.load_limit, given.run_limit, given.memory_limit),
        given.frontend,
        given.method,
    )
    stopped = Event()
    done = 0

    def one(name: str) -> Outcome | None:
        if stopped.is_set():
            return None
        if not given.all and not place(given.references, name).is_file():
            return Outcome(name, "no reference")
        return in_process(name, settings, stopped)

    with ThreadPoolExecutor(given.jobs) as pool:
        waiting = [pool.submit(one, n) for n in names]
        try:
            for future in as_completed(waiting):
                found = future.result()
                if found is None:
                    continue
                done += 1
                outcomes[found.name] = found
                write_outcomes(given.out, outcomes, about)
                print(f"[{done}/{len(names)}] {_line(found)}", flush=True)
        except KeyboardInterrupt:
            stopped.set()
            print(f"stopped after {done} of {len(names)}; --resume goes on", file=sys.stderr)
    return not stopped.is_set()


def _line(o: Outcome) -> str:
    """A class and what became of it, in one line."""
    figures = [
        f"{label} {value:g}{unit}"
        for label, value, unit in (
            ("load", o.load_seconds, " s"),
            ("run", o.run_seconds, " s"),
            ("equations", o.equations, ""),
            ("states", o.states, ""),
        )
        if value is not None
    ]
    said = f"{o.code} {o.message}".strip().replace("\n", " ")[:160]
    return f"{o.verdict:12} {o.name} {', '.join(figures)} {said}".rstrip()


def _chosen(given: argparse.Namespace) -> Iterator[str]:
    """Classes that the command line asks for, in order."""
    found = [n for n in classes(given.references) if re.search(given.filter, n)]
    if given.leave_out:
        found = [n for n in found if not re.search(given.leave_out, n)]
    if given.sample is not None and given.sample < len(found):
        found = sorted(random.Random(given.seed).sample(found, given.sample))
    yield from found


def _about(given: argparse.Namespace) -> dict[str, Any]:
    import estimica as es

    return {
        "estimica": es.__version__,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "frontend": given.frontend or "default",
        "limits": f"{given.load_limit:g} s to load, {given.run_limit:g} s to run, "
        f"{given.memory_limit / 1e3:g} GB",
    }


def _reasons(path: Path | None) -> dict[str, str]:
    """What is known about classes that do not agree: names and sentences of a TOML file."""
    return {} if path is None else tomllib.loads(path.read_text(encoding="utf-8"))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("references", type=Path, help="folder of reference results")
    add("--out", type=Path, required=True, help="JSON file of the results")
    add("--library", default=os.environ.get("MODELICAPATH", ""), help="instead of MODELICAPATH")
    add("--filter", default="", metavar="REGEX", help="only classes whose name matches")
    add("--leave-out", default="", metavar="REGEX", help="not these")
    add("--sample", type=int, metavar="N", help="N of them, drawn at random")
    add("--seed", type=int, default=0, help="of the draw")
    add("--jobs", type=int, default=2, help="classes at the same time")
    add("--load-limit", type=float, default=120.0, metavar="S", help="seconds to load a class")
    add("--run-limit", type=float, default=120.0, metavar="S", help="seconds to simulate it")
    add("--memory-limit", type=float, default=4000.0, metavar="MB", help="of a process")
    add("--frontend", default="", help="what reads Modelica, if not the default")
    add("--method", default="auto", help="of integration: auto, explicit, implicit")
    add("--all", action="store_true", help="also run classes whose reference is not there")
    add("--resume", action="store_true", help="keep what the JSON file has")
    add("--again", default="", metavar="VERDICTS", help="with --resume: try these again, a,b")
    add("--apart", default="", metavar="REGEX", help="also count without these")
    add("--against", type=Path, metavar="JSON", help="show what changed since these results")
    add("--table", type=Path, metavar="MD", help="write a page of the documentation")
    add("--causes", type=Path, metavar="TOML", help="for the page: 'class' = 'why it deviates'")
    given = parser.parse_args()
    if not given.references.is_dir():
        parser.error(f"no folder '{given.references}'; give one with reference results")
    if not given.library:
        parser.error("no library; set MODELICAPATH or give --library FOLDER")
    given.library = os.pathsep.join(str(Path(p).resolve()) for p in given.library.split(os.pathsep))
    if given.jobs < 1:
        parser.error(f"--jobs {given.jobs}: at least 1")
    unknown = [v for v in given.again.split(",") if v and v.strip() not in VERDICTS]
    if unknown:
        parser.error(f"--again: no verdict '{unknown[0]}'; there are {', '.join(VERDICTS)}")
    for option in (given.filter, given.leave_out, given.apart):
        try:
            re.compile(option)
        except re.error as error:
            parser.error(f"'{option}' is not a regular expression: {error}")
    for path in (given.against, given.causes):
        if path is not None and not path.is_file():
            parser.error(f"no file '{path}'")
    if given.resume and given.out.exists():
        try:
            json.loads(given.out.read_text(encoding="utf-8"))["outcomes"]
        except (ValueError, KeyError):
            parser.error(f"'{given.out}' holds no results of a campaign; name another --out")
    return given


if __name__ == "__main__":
    sys.exit(main())
