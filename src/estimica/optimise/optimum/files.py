"""Files of a design: a table of its tuners and criteria, and the tuned model as Modelica."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from datetime import date
from importlib.metadata import version
from os import PathLike
from pathlib import Path

from estimica.base.errors import DesignError
from estimica.base.files.write import atomic_replacement, write_text
from estimica.estimate.fit.modelica import extended, require_class_name
from estimica.estimate.setup import parameter_map_of
from estimica.optimise.criteria.score import Score
from estimica.optimise.optimum.result import Optimised
from estimica.simulate.modelica.model import ModelicaModel


def write_design(found: Optimised, path: str | PathLike[str]) -> Path:
    """What was found, before and after, as CSV."""
    with atomic_replacement(path) as draft, draft.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(_rows(found))
    return Path(path)


def _rows(found: Optimised) -> Iterator[tuple[object, ...]]:
    yield ("what", "case", "name", "before", "after", "demand", "unit")
    for u, value in zip(found.unknowns.items, found.best.tuners, strict=True):
        yield ("tuner", "", u.name, repr(u.start), repr(float(value)), "", u.unit)
    for before, after in zip(found.start.scores, found.best.scores, strict=True):
        p = after.place
        cells = _cell(before), _cell(after)
        yield ("criterion", p.case, p.criterion.name, *cells, p.demand, p.criterion.unit)


def _cell(score: Score) -> str:
    """A value with all its digits; > and what it is at least where it was not reached."""
    return f">{score.at_least!r}" if score.value is None else repr(score.value)


def _largest(found: Optimised) -> str:
    if math.isfinite(found.alpha):
        return f"largest criterion/demand {found.alpha:.6g}"
    open_ = [s for s in found.best.scores if not s.reached]
    return ", ".join(f"{s.place.label} {s.place.open_word}" for s in open_)


def write_designed_model(
    found: Optimised, path: str | PathLike[str], name: str | None = None
) -> Path:
    """A Modelica class that extends the model with the best tuners."""
    model = found.study.bare
    if not isinstance(model, ModelicaModel):
        raise DesignError(
            "O087", f"model '{model.name}' has no Modelica source that can be extended"
        )
    if name is not None:
        require_class_name(name)
    last = model.name.rpartition(".")[2]
    chosen = name or f"Tuned{last[:1].upper()}{last[1:]}"
    links, _, held = parameter_map_of(found.study)
    values, _ = links.at(found.best.tuners)
    known = {q.name for q in model.quantities()}
    own = dict(zip(links.parameters, map(float, values), strict=True))
    tuned = {n: v for n, v in {**own, **held}.items() if n in known}
    said = [
        f"Tuned by estimica {version('estimica')} on {date.today()}: study '{found.study.name}', "
        f"{_largest(found)}, {found.outcome.status}.",
        f"Load it together with {model.name}. Values that cases set are left out.",
    ]
    text = extended(model, chosen, tuned, "tuned values", said)
    return write_text(path, text)
