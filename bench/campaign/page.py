"""The page of the documentation: all examples with verdict and times."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from campaign.comparison import ABSOLUTE_FLOOR, EVENT_SHIFT, RELATIVE_FLOOR, SHARE
from campaign.outcome import Outcome
from campaign.summary import by_package, cause, counts

HEAD = """# Examples of the library beside their reference results

This page is written by `bench/library_campaign.py`. Every class was loaded by its name and
simulated to the end of its reference result, in a process of its own{limits}. A class *agrees*
where all signals that its authors want compared are there and stay within {share:g} % of their
range of the reference, early or late by at most one interval between outputs; jumps may be off by
1/{parts:g} of the run. No signal is asked to be nearer than {relative:g} of its largest value, nor
nearer than {absolute:g}. *Load* is from the name to a model that can be compiled, *run* from there
to the result, compilation included; both in seconds by the clock.

{counts}.

| package | classes | agree |
|---|---|---|
{packages}
"""


def write_page(
    path: Path,
    outcomes: Mapping[str, Outcome],
    about: Mapping[str, Any],
    reasons: Mapping[str, str],
) -> None:
    """Write the page; `reasons` are what is known about classes that do not agree, by name."""
    grouped = by_package(outcomes.values())
    packages = "\n".join(
        f"| {name} | {sum(o.judged for o in members)} | "
        f"{sum(o.verdict == 'agrees' for o in members)} |"
        for name, members in grouped.items()
    )
    limits = f" ({about['limits']})" if about.get("limits") else ""
    text = HEAD.format(
        limits=limits,
        share=100 * SHARE,
        parts=1 / EVENT_SHIFT,
        relative=RELATIVE_FLOOR,
        absolute=ABSOLUTE_FLOOR,
        counts=counts(outcomes.values()),
        packages=packages,
    )
    lines = [text]
    for name, members in grouped.items():
        lines += _section(name, members, reasons)
    path.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def _section(name: str, members: list[Outcome], reasons: Mapping[str, str]) -> Iterator[str]:
    yield f"## {name}\n"
    yield "| class | equations | states | load | run | verdict |"
    yield "|---|---|---|---|---|---|"
    for o in sorted(members, key=lambda o: o.name):
        cells = (
            o.name.removeprefix(name + "."),
            _integer(o.equations),
            _integer(o.states),
            _seconds(o.load_seconds),
            _seconds(o.run_seconds),
            _verdict(o, reasons.get(o.name, "")),
        )
        yield f"| {' | '.join(cells)} |"
    yield ""


def _verdict(o: Outcome, reason: str) -> str:
    text = f"**{o.verdict}**" if o.verdict != "agrees" else "agrees"
    if reason:
        return f"{text}: {_cell(reason)}"
    if o.verdict in ("deviates", "missing signals", "time limit", "memory limit"):
        return f"{text}: {_cell(o.message)}"
    if o.judged and o.verdict != "agrees":
        return f"{text}: {_cell(cause(o).removeprefix(o.verdict).strip(' :'))}"
    return text


def _cell(text: str) -> str:
    """Text that stands in a cell and means itself."""
    return re.sub(r"([|<>*_\[\]`])", r"\\\1", " ".join(text.split()))


def _integer(number: int | None) -> str:
    return "" if number is None else str(number)


def _seconds(number: float | None) -> str:
    return "" if number is None else f"{number:.2f}" if number < 10 else f"{number:.0f}"
