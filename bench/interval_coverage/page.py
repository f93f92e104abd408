"""Page: docs/coverage.md, written from the stored figures."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from pathlib import Path

from experiments import NEAR, SITUATIONS, SLOW
from figures import FULL, OFF, WORST_OFF, Cell, Cells, wider
from intervals import METHODS, REPLICATES
from plants import PLANTS

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "coverage.md"
COMMAND = "python bench/interval_coverage/run.py --experiments 400 --workers 2"
STORED = DOCS / "assets" / "coverage_table.json"
KINDS = {
    "balanced": "both outputs have {0} samples of white noise",
    "unbalanced": "one output has {0} samples, the other {1}",
    "coloured": "{0} samples of each output; half of the noise's variance is white, half is slow "
    f"({SLOW} from one sample to the next)",
    "small N": "{0} samples of each output",
    "at a bound": f"as balanced, with a bound {NEAR:g} standard errors from the truth of one tuner",
    "known σ": "{0} samples of each output, whose standard deviation is given (`sigma`)",
}


def page(cells: Cells) -> str:
    """The whole page."""
    return "\n".join([*_head(_many(cells)), *_tables(cells), *_notes(cells)]) + "\n"


def _many(cells: Cells) -> str:
    """How many experiments the cells have, in words; the fewest of each method."""
    least: dict[str, int] = {}
    for (_, _, method), one in cells.items():
        least[method] = min(one.experiments, least.get(method, one.experiments))
    if len(set(least.values())) <= 1:
        return str(next(iter(least.values()), 0))
    return ", ".join(f"{n} ({method})" for method, n in least.items())


def _head(many: str) -> Iterable[str]:
    models = "; ".join(f"*{n}*, {_described(n)}" for n in PLANTS)
    yield from ("# Coverage of intervals", "")
    yield from _filled(
        "A 95 % interval holds the truth in 95 of 100 experiments, or it is not one. Here is how "
        f"often each kind does: six models, six situations, four methods, {many} simulated "
        "experiments in each cell. Numbers are per cent of the intervals of all unknowns that "
        "hold the truth, then the unknown that is furthest from 95 %. "
        f"The share of {FULL} scatters by 1.1: {95 - OFF:g} to {95 + OFF:g} counts as 95, and "
        f"{95 - WORST_OFF:g} to {95 + WORST_OFF:g} for the unknown that is furthest; "
        f"a share of 100 scatters {wider(100):g} times as much, and the limits are as much wider. "
        "*Italic* cells lie outside, and their results say so in a sentence; "
        "**bold** ones do not say it."
    )
    yield from ("```console", f"$ {COMMAND}", "```", "")
    yield from _filled(
        "repeats it, in some two hours of one processor, and writes this page and "
        "[coverage_table.json](assets/coverage_table.json). `--only circuit,unbalanced,profile` "
        "does one cell."
    )
    yield from _filled(f"The models: {models}.")
    yield from _filled(
        'The methods: *plain*, what `fit` prints; *hac*, `covariance(fit, "hac")`; *bootstrap*, '
        f"the percentiles of {REPLICATES} replicates of the kind that one gets without asking; "
        "*profile*, of one unknown that the second output tells of."
    )


def _filled(text: str) -> Iterable[str]:
    """A paragraph in lines, and an empty one behind it."""
    yield from (*textwrap.wrap(text, 100, break_on_hyphens=False), "")


def _described(plant: str) -> str:
    """The first words about a plant."""
    text = (PLANTS[plant].__doc__ or "").strip().rstrip(".")
    return text[0].lower() + text[1:]


def _tables(cells: Cells) -> Iterable[str]:
    for situation, kind in SITUATIONS.items():
        yield from (f"## {situation[0].upper()}{situation[1:]}", "")
        text = KINDS[situation].format(*kind.samples)
        yield from _filled(f"{text[0].upper()}{text[1:]}.")
        yield from (f"| model | {' | '.join(METHODS)} |", "|---" * (len(METHODS) + 1) + "|")
        for plant in PLANTS:
            shown = [_shown(cells.get((plant, situation, m))) for m in METHODS]
            yield f"| {plant} | {' | '.join(shown)} |"
        yield ""


def _shown(one: Cell | None) -> str:
    if one is None:
        return "–"
    text = f"{one.coverage:.1f}"
    if one.worst and one.worst_coverage != one.coverage:
        text += f" ({one.worst} {one.worst_coverage:.1f})"
    if one.is_true:
        return text
    return f"*{text}*" if one.is_told else f"**{text}**"


def _notes(cells: Cells) -> Iterable[str]:
    """What the results of cells outside the limits say, and what is left out of the counts."""
    yield from ("## What the results say", "")
    told: dict[tuple[str, str, str], list[str]] = {}
    for (plant, situation, method), one in cells.items():
        if one.told:
            key = (situation, method, one.says)
            told.setdefault(key, []).append(f"{plant} {one.told:.0f} %")
    if not told:
        yield "No result doubts its intervals."
    for (situation, method, says), shares in told.items():
        yield f"- {situation}, {method} ({', '.join(shares)} of the results): “{says}”"
    lost = [
        f"{plant}, {situation}, {method}: {one.failed} failed, {one.missing:g} % of the intervals "
        "are missing"
        for (plant, situation, method), one in cells.items()
        if one.failed or one.missing
    ]
    yield from ("", "## Not counted", "")
    yield from (f"- {text}" for text in lost) if lost else ("Nothing: every interval exists.",)
