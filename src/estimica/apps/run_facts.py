"""Facts: what a stored run found, as named texts that can stand beside those of other runs.

Every command stores its own JSON; what it means is read here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from estimica.base.text import with_error
from estimica.base.view import name_with_unit
from estimica.execute.runs.record import StoredRun
from estimica.report.text import printed
from estimica.study.criterion import not_reached_text

FIGURES = ("cost", "n_samples", "n_free", "aic", "aicc", "bic")
WORDS = {"n_samples": "samples", "n_free": "unknowns", "aic": "AIC", "aicc": "AICc", "bic": "BIC"}
HELD = 1e-6  # of a demand: by how much it may be missed and still hold; chosen: as searches end
Fact = tuple[str, str]  # name and text


def facts(run: StoredRun) -> dict[str, str]:
    """What a run found, by name: its unknowns, then what its command tells besides."""
    named = dict(_unknowns(run.result))
    named |= dict(_TELLERS.get(kind_of(run), _no_more)(run.result))
    return {name: text for name, text in named.items() if text}


def figures(run: StoredRun) -> dict[str, str]:
    """Cost, numbers of samples and unknowns, criteria of choice: as far as there are some."""
    return {n: printed(run.result[n]) for n in FIGURES if run.result.get(n) is not None}


def outcome(run: StoredRun) -> str:
    """How it ended, as its result says, or else as the store does."""
    ending = run.result.get("outcome")
    if isinstance(ending, Mapping) and ending.get("status"):
        return str(ending["status"])
    return str(run.status)


def kind_of(run: StoredRun) -> str:
    """Its command; a front is another thing than a design."""
    return "pareto" if run.result.get("pareto") else run.summary.command


def unknowns(result: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The estimates of a fit and of what follows from one, or the tuners of a design."""
    if "parameters" not in result and "fit" in objects(result):
        result = objects(result)["fit"]  # of a release, the last of its fits
    yield from objects(result.get("parameters")).items()
    yield from objects(result.get("tuners")).items()
    for key, word in (("start_values", "start of "), ("disturbances", "disturbance of ")):
        for case, own in objects(result.get(key)).items():
            for name, estimate in objects(own).items():
                yield f"{word}{name} in {case}", estimate


def objects(value: object) -> dict[str, Mapping[str, Any]]:
    """Those members of a JSON object that are objects; other commands store other results."""
    if not isinstance(value, Mapping):
        return {}
    return {str(k): v for k, v in value.items() if isinstance(v, Mapping)}


def cautions(runs: Sequence[StoredRun]) -> list[str]:
    """What cannot be compared although it stands in one row."""
    warnings = []
    commands = list(dict.fromkeys(kind_of(r) for r in runs))
    if len(commands) > 1:
        warnings.append(
            f"different commands ({', '.join(commands)}): what stands in one row has the same "
            "name, but was found in another way"
        )
    differing = [
        word
        for key, word in (("criterion", "criteria"), ("n_samples", "numbers of samples"))
        if len({printed(r.result[key]) for r in runs if key in r.result}) > 1
    ]
    if differing:
        warnings.append(
            f"different {' and '.join(differing)}: cost, AIC and BIC cannot be compared"
        )
    other = [name for name, demands in _demands(runs).items() if len(demands) > 1]
    if other:
        warnings.append(
            f"different demands of {', '.join(other)}: criterion/demand says other things"
        )
    return warnings


def _demands(runs: Sequence[StoredRun]) -> dict[str, set[str]]:
    demands: dict[str, set[str]] = {}
    for run in runs:
        for label, one in criteria_of(run.result):
            if one.get("demand") is not None and one.get("role") != "watch":
                demands.setdefault(label, set()).add(printed(one["demand"]))
    return demands


# --- unknowns -------------------------------------------------------------------------------------


def _unknowns(result: Mapping[str, Any]) -> Iterator[Fact]:
    for name, estimate in unknowns(result):
        yield name, _estimate(estimate)


def _estimate(e: Mapping[str, Any]) -> str:
    """A value with its standard error, its interval where it has only that, and its bound."""
    text, error = printed(e.get("value")), printed(e.get("stderr"))
    if error:
        text = with_error(float(e["value"]), float(e["stderr"])) if text else f" ± {error}"
        return text + (", at a bound" if e.get("at_bound") is True else "")
    match e.get("ci95") or e.get("interval"):
        case [low, high]:
            ends = (printed(low) or "−∞", printed(high) or "∞")
            return f"{text} ({ends[0]} … {ends[1]})"
    return f"{text}, at a bound" if e.get("at_bound") is True else text


# --- criteria -------------------------------------------------------------------------------------


def criteria_of(result: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every criterion in every case, by its label."""
    for case, own in objects(result.get("criteria")).items():
        for name, one in objects(own).items():
            yield label_of(case, name, one), one


def label_of(case: str, name: str, one: Mapping[str, Any]) -> str:
    """What a criterion of a case is called, with its unit."""
    label = name if case == "design" else f"{name} in {case}"
    return name_with_unit(label, str(one.get("unit") or ""))


def printed_criterion(one: Mapping[str, Any]) -> str:
    """The value of a criterion with its demand, and whether that is missed."""
    return _value(one, one.get("value"), one.get("at_least")) + _demanded(one)


def _value(one: Mapping[str, Any], value: object, at_least: object) -> str:
    """A value, or that it was not reached."""
    if value is None and at_least is not None:
        return f"{not_reached_text(str(one.get('kind', '')))} (> {printed(at_least)})"
    return printed(value + 0.0 if isinstance(value, float) else value)  # never "-0"


def _demanded(one: Mapping[str, Any]) -> str:
    """What is demanded, and whether that is missed."""
    role, demand = one.get("role"), printed(one.get("demand"))
    if role == "watch" or not demand:
        return ""
    holds = one.get("holds")
    if holds is None and isinstance(one.get("weighted"), (int, float)):
        over = one["weighted"] - 1
        holds = abs(over) <= HELD if role == "equal" else over <= HELD
    missed = ", missed" if holds is False else ""
    return f" (demanded {'=' if role == 'equal' else '≤'} {demand}{missed})"


def _design(result: Mapping[str, Any]) -> Iterator[Fact]:
    """Criteria with their demands, the largest share of a demand, and what it cost."""
    for label, one in criteria_of(result):
        yield label, printed_criterion(one)
    whole = objects(result).get("aggregate", {})
    least = whole.get("largest_at_least")
    yield "largest criterion/demand", _value({}, whole.get("largest"), least)
    if whole.get("kind") not in (None, "max"):
        value = _value({}, whole.get("value"), whole.get("at_least"))
        yield "aggregate", f"{value} ({whole['kind']})"
    yield "all demands hold", printed(whole.get("satisfied"))
    yield "method", printed(result.get("method"))
    yield from _evaluations(result)


def _evaluations(result: Mapping[str, Any]) -> Iterator[Fact]:
    yield "designs simulated", printed(objects(result).get("evaluations", {}).get("designs"))


def _front(result: Mapping[str, Any]) -> Iterator[Fact]:
    """How many designs, from where to where they go, and the knee."""
    designs = [d for d in result.get("front", ()) if isinstance(d, Mapping)]
    yield "designs on the front", str(len(designs))
    names = result.get("criteria")
    for name in names if isinstance(names, list) else ():
        values = [objects(d).get("criteria", {}).get(name) for d in designs]
        known = [v for v in values if v is not None]
        if known:
            yield f"{name} on the front", f"{printed(min(known))} … {printed(max(known))}"
    knee = result.get("knee")
    if isinstance(knee, int) and knee < len(designs):
        for key in ("tuners", "criteria"):
            for name, value in objects(designs[knee]).get(key, {}).items():
                yield f"{name} at the knee", printed(value)
    yield "method", printed(result.get("method"))
    yield from _evaluations(result)


def _samples(result: Mapping[str, Any]) -> Iterator[Fact]:
    held = result.get("satisfied")
    if isinstance(held, list):
        failed = len(result.get("failed") or ())
        lost = f", {failed} failed" if failed else ""
        yield "samples", f"{len(held)} ({result.get('design', '')}){lost}"


def _sweep(result: Mapping[str, Any]) -> Iterator[Fact]:
    """Every criterion from its smallest to its largest, and how often all demands hold."""
    yield from _samples(result)
    held = result.get("satisfied")
    if isinstance(held, list):
        yield "all demands hold", f"in {sum(map(bool, held))} of {len(held)}"
    for label, one in criteria_of(result):
        known = np.array([v for v in one.get("values") or () if v is not None], float)
        parts = [f"{printed(known.min())} … {printed(known.max())}"] if len(known) else []
        if one.get("not_reached"):
            parts.append(f"{not_reached_text(str(one.get('kind', '')))} in {one['not_reached']}")
        yield label, ", ".join(parts) + _demanded(one)


def _montecarlo(result: Mapping[str, Any]) -> Iterator[Fact]:
    """The quantiles of every criterion, and with which probability demands hold."""
    yield from _samples(result)
    yield "all demands hold with", _share(result.get("probability_satisfied"))
    quantiles = objects(result.get("quantiles"))
    bounds = objects(result.get("quantiles_at_least"))
    for case, own in objects(result.get("criteria")).items():
        for name, one in objects(own).items():
            label = label_of(case, name, one)
            known = quantiles.get(case, {}).get(name, {})
            least = bounds.get(case, {}).get(name, {})
            for level, value in known.items():
                yield f"{label}, {100 * float(level):g} %", _value(one, value, least.get(level))
            if one.get("role") != "watch":
                held = _share(one.get("probability_held"))
                yield f"{label} ≤ {printed(one.get('demand'))} with", held


def _share(estimate: object) -> str:
    if not isinstance(estimate, Mapping):
        return ""
    match estimate.get("ci95"):
        case [low, high]:
            return f"{printed(estimate.get('value'))} ({_short(low)} … {_short(high)})"
    return printed(estimate.get("value"))


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, (int, float)) else ""


# --- what follows from a fit ----------------------------------------------------------------------


def _replicates(result: Mapping[str, Any]) -> Iterator[Fact]:
    failed = result.get("failed")
    lost = f", {failed} failed" if failed else ""
    yield "replicates", f"{printed(result.get('replicates'))}{lost}"
    yield "kind", printed(result.get("kind"))


def _chains(result: Mapping[str, Any]) -> Iterator[Fact]:
    yield "chains", f"{printed(result.get('chains'))} of {printed(result.get('draws'))} draws"
    yield "divergences", printed(result.get("divergences"))


def _profile(result: Mapping[str, Any]) -> Iterator[Fact]:
    level = result.get("level")
    yield "level", f"{100 * level:g} %" if isinstance(level, (int, float)) else ""


def _cross_validation(result: Mapping[str, Any]) -> Iterator[Fact]:
    for one in result.get("quality") or ():
        if isinstance(one, Mapping):
            where = f"{one.get('output')} in {one.get('case')}"
            yield f"RMSE of {where}, fitted", printed(one.get("rmse"))
            yield f"RMSE of {where}, left out", printed(one.get("rmse_left_out"))
    yield "verdict", printed(result.get("verdict"))


def _laws(result: Mapping[str, Any]) -> Iterator[Fact]:
    for target, verdict in (result.get("verdict") or {}).items():
        yield f"law of {target}", printed(verdict)


def _no_more(result: Mapping[str, Any]) -> Iterator[Fact]:
    yield from ()


_TELLERS: dict[str, Callable[[Mapping[str, Any]], Iterator[Fact]]] = {
    "optimise": _design,
    "pareto": _front,
    "sweep": _sweep,
    "montecarlo": _montecarlo,
    "bootstrap": _replicates,
    "profile": _profile,
    "sample": _chains,
    "crossvalidate": _cross_validation,
    "backcalculate": _laws,
}
