"""What a campaign has shown: by verdict, by package, by cause, and beside an older one."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from campaign.outcome import VERDICTS, Outcome

#: parts of a class's name that name its package here: Modelica.Electrical.Analog
DEPTH = 3
#: verdicts whose messages are counted as causes
FAILED = ("stops", "refused", "traceback", "crash", "memory limit", "time limit")
#: characters of a normalised message: enough to tell causes apart
LONGEST = 160
#: what is particular to a class in a message, and what stands there instead, in this order
_PARTICULAR = tuple(
    (re.compile(pattern), instead)
    for pattern, instead in (
        (r"(?<!\w)/?[\w .~-]*(?:/[\w .~-]+)+\.\w+(?::\d+)*", "FILE"),
        (r"\b\w+\.mo(?::\d+)+", "FILE"),
        (r"\s*\([^()]*FILE[^()]*\)", ""),
        (r"^class '[^']*':? ?", ""),
        # what is not supported is the cause itself
        (r"\b(built-in|operator|construct|function) '([\w.]+)'", r"\1 \2"),
        (r"'[^']*'|\"[^\"]*\"|`[^`]*`", "'…'"),
        (r"\b[A-Za-z_]\w*\[[^\]]*\](?:\.\w+(?:\[[^\]]*\])?)*", "NAME"),
        (r"(?<![\w.])[-+]?\d+(?:\.\d+)*(?:[eE][-+]?\d+)?", "N"),
    )
)


def package(name: str) -> str:
    """The package that a class is counted with; its last folder at the least."""
    parts = name.split(".")[:-1]
    cut = next((k for k, p in enumerate(parts) if p.startswith("Example")), len(parts))
    return ".".join(parts[: max(1, min(cut, DEPTH))])


def cause(outcome: Outcome) -> str:
    """The code and the message without what is particular to the class: names, numbers, places."""
    message = outcome.message.splitlines()[0] if outcome.message else ""
    for pattern, instead in _PARTICULAR:
        message = pattern.sub(instead, message)
    message = message.partition(";")[0].strip()
    short = message if len(message) <= LONGEST else message[: LONGEST - 1] + "…"
    return f"{outcome.verdict} {outcome.code}: {short}".replace(" :", ":")


def counts(outcomes: Iterable[Outcome]) -> str:
    """One sentence: how many agree of those that can be judged, and what became of the others."""
    listed = list(outcomes)
    judged = [o for o in listed if o.judged]
    agree = sum(o.verdict == "agrees" for o in judged)
    rate = f" ({100 * agree / len(judged):.1f} %)" if judged else ""
    found = Counter(o.verdict for o in listed)
    rest = ", ".join(f"{found[v]} {v}" for v in VERDICTS[1:] if found[v])
    return f"{agree} of {len(judged)} agree{rate}" + (f"; {rest}" if rest else "")


def by_package(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    """Outcomes of each package, packages sorted."""
    grouped: dict[str, list[Outcome]] = defaultdict(list)
    for o in outcomes:
        grouped[package(o.name)].append(o)
    return dict(sorted(grouped.items()))


def causes(outcomes: Iterable[Outcome]) -> list[tuple[str, list[Outcome]]]:
    """Outcomes of each cause, the most frequent first."""
    grouped: dict[str, list[Outcome]] = defaultdict(list)
    for o in outcomes:
        if o.verdict in FAILED:
            grouped[cause(o)].append(o)
    return sorted(grouped.items(), key=lambda item: (-len(item[1]), item[0]))


def summary(outcomes: Mapping[str, Outcome], apart: str = "") -> Iterator[str]:
    """The lines that end a campaign."""
    listed = list(outcomes.values())
    yield counts(listed)
    if apart:
        rest = [o for o in listed if not re.search(apart, o.name)]
        yield f"without {apart}: {counts(rest)}"
    yield ""
    for name, members in by_package(listed).items():
        yield f"  {name}: {counts(members)}"
    yield ""
    for text, members in causes(listed):
        names = ", ".join(o.name.rpartition(".")[2] for o in members[:3])
        yield f"  {len(members):4} {text}  [{names}{', …' if len(members) > 3 else ''}]"
    late = [o.name for o in listed if o.verdict == "agrees" and o.late]
    if late:
        yield f"  {len(late)} agree with jumps further off than an interval: {', '.join(late)}"
    deviating = [o for o in listed if o.verdict in ("deviates", "missing signals")]
    for o in deviating:
        yield f"  {o.verdict}: {o.name}: {o.message}"
    hours = sum((o.load_seconds or 0) + (o.run_seconds or 0) for o in listed) / 3600
    yield f"\n{len(listed)} classes, {hours:.2f} h of loading and running"


def changes(old: Mapping[str, Outcome], new: Mapping[str, Outcome]) -> Iterator[str]:
    """What is different from an older campaign: what agreed and does not now comes first."""
    both = [n for n in sorted(new) if n in old and old[n].verdict != new[n].verdict]
    lost = [n for n in both if old[n].verdict == "agrees"]
    won = [n for n in both if new[n].verdict == "agrees"]
    other = [n for n in both if n not in lost and n not in won]
    for title, names in (
        ("agreed before, not now", lost),
        ("agrees now, not before", won),
        ("changed otherwise", other),
    ):
        if names:
            yield f"{title}: {len(names)}"
        for n in names:
            o = new[n]
            text = f": {o.code} {o.message}".rstrip()[:200] if o.verdict != "agrees" else ""
            yield f"  {n}: {old[n].verdict} → {o.verdict}{text}"
    compared = sum(n in old for n in new)
    same = compared - len(both)
    yield f"{same} of {compared} classes that both have ended as before"
