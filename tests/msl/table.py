"""Writes docs/standard-library.md and tests/msl/examples.py from the results of the campaign.

python -m tests.msl.table results.json [witness.json]
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

HEAD = """What became of the runnable examples of these packages of the Modelica Standard Library ({version}):
{packages}. Each was loaded by its name, and simulated to its own stop time with a relative tolerance of
1e-6. *Agrees* marks those whose states were compared with the simulation of the compiler itself, whose
solver is not ours.

Repeat it with a library on `MODELICAPATH`:

```console
$ python -m tests.msl.campaign results.json
$ make msl
```

{counts}

| example | states | outcome |
|---|---|---|
"""


def main() -> None:
    """Read the campaign, write the page and the lists that the tests use."""
    reports = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    reports = [r for r in reports if r.get("code") != "S002"]  # names that are not classes
    compared = (
        json.loads(Path(sys.argv[2]).read_text(encoding="utf-8")) if len(sys.argv) > 2 else {}
    )
    loaded = [r for r in reports if r["stage"] != "load"]
    done = [r for r in reports if r["stage"] == "done"]
    packages = sorted(
        {
            ".".join(r["name"].split(".")[1 : -2 if ".Examples." in r["name"] else -1]).split(
                ".Examples"
            )[0]
            for r in reports
        }
    )
    counts = (
        f"**{len(reports)}** examples: **{len(loaded)}** load, **{len(done)}** run to their end, "
        f"**{len(compared)}** agree with the witness."
    )
    rows = [_row(r, compared) for r in reports]
    version = sys.argv[3] if len(sys.argv) > 3 else "4.2.0 dev"
    text = HEAD.format(
        counts=counts, packages=", ".join(f"`{p}`" for p in packages), version=version
    )
    page = ROOT / "docs" / "standard-library.md"
    before = page.read_text(encoding="utf-8").partition("What became of the runnable")[0]
    page.write_text(before + text + "\n".join(rows) + "\n", encoding="utf-8")
    _write_lists(loaded, done, compared)
    print(counts, Counter(r.get("code", "done") for r in reports))


def _row(report: dict[str, object], compared: dict[str, float]) -> str:
    name = str(report["name"]).removeprefix("Modelica.")
    if report["stage"] == "done":
        outcome = "agrees" if report["name"] in compared else "runs"
    else:
        outcome = f"{report['stage']}: {_short(str(report['message']))}"
    return f"| {name} | {report.get('states', '')} | {outcome} |"


def _short(message: str) -> str:
    """The message without paths and file names, in one line of a table."""
    message = re.sub(r"\(?/[^\s:)]*\.mo(:\d+)?\)?:?", "", message)
    message = re.sub(r"class '[^']*'\s*:?", "", message).replace("|", "\\|").replace("\n", " ")
    message = re.sub(r"\s+", " ", message).strip(" :;")
    return message if len(message) <= 160 else message[:157] + "…"


def _write_lists(
    loaded: list[dict[str, object]], done: list[dict[str, object]], compared: dict[str, float]
) -> None:
    lines = [
        '"""Library examples that load, run, and are compared; written by tests.msl.table."""',
        "",
    ]
    for title, names in (("LOADED", loaded), ("RUN", done)):
        lines += [f"{title} = [", *(f'    "{r["name"]}",' for r in names), "]", ""]
    lines += [
        "COMPARED = {  # stop time of the comparison",
        *(f'    "{n}": {stop!r},' for n, stop in compared.items()),
        "}",
        "",
    ]
    (ROOT / "tests" / "msl" / "examples.py").write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
