"""The frame of every page about a study: first what was asked, last how to repeat it.

Estimates, inferences, experiments and designs all stand in it. It is here, in the first of these
rooms, because a study and a run know nothing of pages.
"""

from __future__ import annotations

import hashlib
import math
import platform
import shlex
import sys
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

from estimica.base.files.read import open_file, read_text
from estimica.base.quantities import Quantity
from estimica.base.view import Listing, Page, Section, Table, ViewElement
from estimica.data.table import Data
from estimica.execute.runs.provenance import PACKAGES, environment
from estimica.simulate.load import is_formula_in_s_or_z
from estimica.study.case import Case
from estimica.study.criterion import Criterion
from estimica.study.study import Study
from estimica.study.tuner import Tuner

QUESTION, ANSWER, REPETITION = "What was asked", "The answer", "To repeat this"
PURPOSES = {
    "fit": "To find the values of the tuners with which the simulated outputs of the model come "
    "closest to the measured ones, and how far these values can be trusted.",
    "residuals": "To judge the model by what it leaves unexplained: residuals, the differences of "
    "simulation and measurement, should look like noise.",
    "identifiability": "To find out whether the data determine every tuner, or only some of them "
    "or combinations of them.",
    "release": "To find which parameters of the model are worth setting free: step by step the "
    "one that improves the fit most is released, as long as that is more than luck.",
    "find-noise": "To find the state whose equation is incomplete: noise is put into one state "
    "at a time, and that which improves the likelihood most is kept, as long as that is more than "
    "luck.",
    "bootstrap": "To find how uncertain the estimates are, by fitting again and again to data with "
    "new noise.",
    "sample": "To find how probable values of the unknowns are, given the data and what was known "
    "before, by drawing from that distribution.",
    "profile": "To find intervals for the estimates without assuming that the model is linear: one "
    "unknown is held at values around its estimate while all others are fitted again.",
    "crossvalidate": "To find how well the model predicts data that it was not fitted to: parts of "
    "the data are left out in turn and predicted from the others.",
    "map": "To see how the criterion depends on two tuners: a round valley is well determined, a "
    "long one says that only a combination of both is.",
    "cost_curve": "To see how the criterion depends on one tuner: how narrow its valley is, and "
    "whether there are others.",
    "optimise": "To find the values of the tuners with which the model satisfies all demands best.",
    "pareto": "To find the designs in which no criterion can be improved without another one "
    "getting worse, so that the trade-off can be seen and chosen from.",
    "sweep": "To see how the criteria change over ranges of parameters.",
    "montecarlo": "To find how likely the demands are met when parameters vary at random.",
    "backcalculate": "To compute from data what a relation of the model hides, and to find the law "
    "that describes it.",
    "design-input": "To design the input of the next experiment, so that its data determine the "
    "tuners as well as possible.",
    "covariance": "To find the standard errors of the estimates and how they go together.",
    "bands": "To find how uncertain the simulated outputs are, given how uncertain the estimates "
    "are.",
    "monitor": "To follow estimates while data arrive, and to see when something changes.",
    "states": "To find what the data tell of the states, of those too that were not measured, and "
    "what their equations lack.",
    "predict": "To find how well measured values are predicted from those some samples before.",
    "forecast": "To find how it goes on after the data, and how far that is certain.",
    "region": "To find which values of two unknowns go together with the data.",
    "prefilters": "To see which frequencies count in the fit.",
}  # fmt: skip
CRITERIA = {
    "oe": "The criterion is “output error” (oe): the sum of the squared differences between "
    "simulated and measured outputs, each output relative to its size unless a weight is given.",
    "ml": "The criterion is “maximum likelihood” (ml): differences between simulated and measured "
    "outputs count relative to the noise of each output, whose level is estimated with the "
    "tuners where it is not given.",
    "prediction": "The criterion is “prediction”: each measured value is compared with what the "
    "model predicts of it from all values before it, relative to how uncertain that prediction is; "
    "the states have noise of their own, for what the equations leave out.",
}
TUNERS = {
    "sweep": "Tuners: the design; what is not varied keeps its start",
    "montecarlo": "Tuners: the design; what does not vary keeps its start",
}
ROLES = {
    "minimise": "made small",
    "at-most": "at most",
    "equal": "equal to",
    "watch": "only watched",
}
#: functions whose names differ from those of their commands, and those that take a fit
IN_PYTHON = {"pareto": "pareto", "map": "criterion_map", "design-input": "design_input"}
ON_FITS = ("residuals", "bootstrap", "sample", "profile", "crossvalidate", "covariance", "bands",
           "region", "prefilter_weighting", "states", "predict", "forecast")  # fmt: skip


# --- what was asked ------------------------------------------------------------------------------


def study_summary(study: Study, command: str, more: str = "") -> Section:
    """The study behind a command: its purpose, model, criterion, tuners, cases."""
    words = [PURPOSES.get(command, ""), _model(study)]
    if _fits(study, command):
        words.append(_criterion(study))
    words.append(more)
    if study.origin is not None:
        words.append(study.origin.text)
    return Section(QUESTION, "\n\n".join(w for w in words if w), tuple(_tables(study, command)))


def _fits(study: Study, command: str) -> bool:
    unfitted = ("optimise", "pareto", "sweep", "montecarlo", "backcalculate", "design-input")
    return bool(study.active_tuners) and command not in unfitted


def _model(study: Study) -> str:
    source = _model_source(study)
    of = f" of {source_name(str(source))}" if source and str(source) != study.model.name else ""
    about = study.model.description.strip().rstrip(".")
    sentence = f"The study is “{study.name}”, the model {study.model.name}{of}"
    return f"{sentence}: {about}." if about else f"{sentence}."


def source_name(source: str) -> str:
    """What a model is read from, as a page tells it: a file by its name, a formula as it stands."""
    return source if is_formula_in_s_or_z(source) else Path(source).name


def _model_source(study: Study) -> object:
    table = study.tables.get("model", {})
    return table.get("source") if isinstance(table, Mapping) else None


def _criterion(study: Study) -> str:
    e = study.estimation
    words = CRITERIA.get(
        e.criterion, f"The criterion is the sum of {e.criterion} over all samples."
    )
    if e.loss != "squared":
        words += f" Large differences count less than by their square ({e.loss} loss)."
    if any(t.prior for t in study.active_tuners):
        words += " What is known of tuners beforehand (their priors) counts too."
    if e.starts > 1:
        words += f" The search was begun from {e.starts} points, so that it finds the best optimum."
    return words


def _tables(study: Study, command: str) -> Iterator[Table]:
    if study.active_tuners:
        known = {q.name: q for q in study.model.quantities()}
        columns: tuple[str, ...]
        columns = ("tuner", "start", "min", "max", "unit", "prior", "drives", "description")
        rows = tuple(_tuner(t, known) for t in study.active_tuners)
        yield _filled(Table(columns, rows, TUNERS.get(command, "Tuners: what is to be found")))
    if study.written_cases:
        columns = (
            "case", "role", "data", "samples", "inputs", "outputs", "free start values", "fixed"
        )  # fmt: skip
        rows = tuple(_case(c) for c in study.written_cases)
        yield _filled(Table(columns, rows, "Cases: the experiments"))
    if study.active_criteria:
        columns = ("criterion", "measure", "of", "wanted", "demand", "unit", "weight")
        rows = tuple(_wanted(c) for c in study.active_criteria)
        yield _filled(Table(columns, rows, "Criteria: what makes a design good"))


def _wanted(c: Criterion) -> tuple[object, ...]:
    measure = c.function if c.kind == "function" else c.kind
    weight = "" if c.weight == 1.0 or c.role != "minimise" else _per_case(c.weight)
    return c.name, measure, c.of, ROLES[c.role], _per_case(c.demand), c.unit, weight


def _tuner(t: Tuner, known: Mapping[str, Quantity]) -> tuple[object, ...]:
    quantity = known.get(t.name, Quantity(t.name))
    value = quantity.value
    own = float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None
    unit = t.unit or quantity.unit
    return (
        t.name,
        t.start if t.start is not None else own,
        _end(t.min),
        _end(t.max),
        "" if unit == "1" else unit,
        t.prior.text if t.prior else "",
        ", ".join(map(str, t.drives)),
        t.description or quantity.description,
    )


def _case(case: Case) -> tuple[object, ...]:
    inputs = [
        f"{n} = {c:g}" if isinstance(c, float) else _from(n, c.column)
        for n, c in case.columns_of_inputs.items()
    ]
    outputs = [_from(n, c.column) for n, c in case.columns_of_outputs.items()]
    outputs += [_from(n, c.text) for n, c in case.columns_of_responses.items()]
    return (
        case.name,
        case.role if case.data is not None else "",
        data_name(case),
        _rows(case),
        ", ".join(inputs),
        ", ".join(outputs),
        ", ".join(case.start_values),
        ", ".join(f"{n} = {_value(v)}" for n, v in case.fix.items()),
    )


def _value(given: float | str) -> str:
    return given if isinstance(given, str) else f"{given:g}"


def _from(name: str, column: str) -> str:
    return name if name == column else f"{name} (column {column})"


def data_name(case: Case) -> str:
    """Where the data of a case come from, in a word."""
    if case.data is None:
        return ""
    if isinstance(case.data, (str, Path, Data)):
        return Path(str(case.data.source if isinstance(case.data, Data) else case.data)).name
    return "given in Python"


def _rows(case: Case) -> int | None:
    """Samples of each column of its data."""
    if not isinstance(case.data, Data) or not case.data.columns:
        return None
    return len(next(iter(case.data.columns.values())))


def _per_case(given: object) -> object:
    if isinstance(given, Mapping):
        return ", ".join(f"{case}: {value:g}" for case, value in given.items())
    return given


def _end(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _filled(table: Table) -> Table:
    """Without columns that hold nothing."""
    keep = [k for k in range(len(table.columns)) if any(r[k] not in ("", None) for r in table.rows)]
    rows = tuple(tuple(r[k] for k in keep) for r in table.rows)
    return Table(tuple(table.columns[k] for k in keep), rows, table.title, table.note)


# --- how to repeat it ----------------------------------------------------------------------------


def with_reproduction(
    page: Page,
    command: str,
    study: Study | None,
    *,
    first: tuple[Section, ...] = (),
    seed: int | None = None,
    run: str = "",
    files: tuple[Path, ...] = (),
) -> Page:
    """The page between what was asked and the answer, `first`, and how to repeat it."""
    last = reproduction_section(command, study, seed=seed, run=run, files=files)
    return Page(page.title, (*first, *page.sections, last), page.lead)


def reproduction_section(
    command: str,
    study: Study | None,
    *,
    seed: int | None = None,
    run: str = "",
    files: tuple[Path, ...] = (),
) -> Section:
    """Command line, seed, versions, checksums of the files, and the study as it was written."""
    text = _study_text(study)
    elements: list[ViewElement] = [Listing(_line(command, study), "The command")]
    elements.append(Table(("what", "is"), tuple(_circumstances(seed, run))))
    rows = tuple(_checksums((*_files(study), *files)))
    if rows:
        note = "SHA-256 changes with every byte of a file: the same code, the same data."
        elements.append(Table(("file", "bytes", "SHA-256"), rows, "The files it read", note))
    if text:
        elements.append(Listing(text, f"The study file {_name(study)}", folded=True))
    words = "The same command with the same files and versions gives the same numbers."
    if seed is not None:
        words += f" Whatever is random begins from seed {seed}."
    return Section(REPETITION, words, tuple(elements))


def from_command_line() -> bool:
    """Whether this process is the command `estimica`."""
    own = Path(sys.argv[0])
    return own.stem == "estimica" or (own.name == "__main__.py" and own.parent.name == "estimica")


def _line(command: str, study: Study | None) -> str:
    if from_command_line():
        return shlex.join(["estimica", *sys.argv[1:]])
    if study is None:
        return f"es.{command.replace('-', '_')}(…)"
    load = f'study = es.read_study("{_name(study)}")' if study.path else "study = es.Study(…)"
    function = IN_PYTHON.get(command, command)
    if function in ON_FITS:
        return f"import estimica as es\n\n{load}\nes.{function}(es.fit(study))"
    return f"import estimica as es\n\n{load}\nes.{function}(study)"


def _name(study: Study | None) -> str:
    return study.path.name if study and study.path else ""


def _circumstances(seed: int | None, run: str) -> Iterator[tuple[str, str]]:
    if run:
        yield "run in the store", run
    if seed is not None:
        yield "seed", str(seed)
    yield "made", f"{datetime.now():%Y-%m-%d %H:%M}"
    now = environment(seed)
    versions = [f"{name} {now[name]}" for name in PACKAGES if now.get(name)]
    yield "versions", ", ".join([*versions, f"Python {now['python']}"])
    yield "machine", f"{platform.system()} {platform.machine()}"


def _study_text(study: Study | None) -> str:
    if study is None or study.path is None:
        return ""
    try:
        return read_text(study.path, "utf-8-sig", "replace").rstrip()
    except OSError:
        return ""


def _files(study: Study | None) -> Iterator[Path]:
    """The study, its model and its data, as far as they are files."""
    if study is None:
        return
    folder = study.path.parent if study.path else Path()
    if study.path:
        yield study.path
    source = _model_source(study)
    known = study.code.get(str(source))
    if known is not None:
        yield known.entry.path
    elif source and "\n" not in str(source):
        yield folder / str(source)
    for case in study.written_cases:
        if isinstance(case.data, (str, Path)):
            yield Path(case.data)
        elif isinstance(case.data, Data):
            yield from map(Path, case.data.parts or (case.data.source,))


def _checksums(paths: tuple[Path, ...]) -> Iterator[tuple[object, ...]]:
    for path in dict.fromkeys(paths):
        try:
            with open_file(path) as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            size = path.stat().st_size
        except (OSError, ValueError):
            continue
        yield path.name, size, digest
