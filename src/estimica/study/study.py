"""Study: a model, tuners, cases and the criterion: everything that a fit needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from estimica.base.code.reference import CodeRefusedError, means_code
from estimica.base.code.trusted import TrustedCode, trusted_code
from estimica.base.errors import TunerError
from estimica.base.presenters import STUDY_WRITER, USE_VALUES, presenter
from estimica.base.problems import Problem, raise_all
from estimica.base.public.calls import with_known_keywords
from estimica.base.suggest import did_you_mean
from estimica.compiled.model.interface import Model
from estimica.compiled.model.observations import Observations
from estimica.study.case import Case
from estimica.study.criterion import Criterion, Indicator
from estimica.study.estimation import Estimation, Execution, Solver
from estimica.study.formulas import names_in_cases, names_in_sigmas, unreadable_formulas
from estimica.study.noise.process import (
    PREDICTION,
    Filter,
    names_in_levels,
    noise_tuners_of,
    with_noise_tuners,
)
from estimica.study.origin import Origin
from estimica.study.shared_columns import SharedColumns, cases_with_columns
from estimica.study.stretch import UNDIVIDED, Partition
from estimica.study.tuner import Tuner

if TYPE_CHECKING:
    from estimica.base.result import Result

FIXED = ("parameter", "constant")


@with_known_keywords(
    "path", "tables", "code", "noise_names", "formula_names", "notes", "partition", "origin"
)
@dataclass(frozen=True, eq=False, init=False)
class Study:
    """What is to be found, from which data, and how.

    `criterion` is a shorthand for `estimation=Estimation(criterion=...)`. `columns` says for all
    cases with data where inputs and outputs come from, as {"u": "voltage", "w": OutputColumn("n",
    unit="rpm")}, and the time as {"time": "stamp"}; what a case says itself goes before.
    """

    bare: Model  # without the outputs that are formulas
    tuners: tuple[Tuner, ...]  # what is to be found
    cases: tuple[Case, ...]  # the experiments
    estimation: Estimation  # how it is found
    solver: Solver  # how it is simulated
    execute: Execution  # what computes many of them
    name: str  # what it is called
    path: Path | None = field(repr=False)  # the study file it was read from
    tables: Mapping[str, object] = field(repr=False)  # as written in the study file
    criteria: tuple[Criterion, ...] = field(repr=False)  # of designs
    indicators: tuple[Indicator, ...] = field(repr=False)  # plots of a design
    code: Mapping[str, TrustedCode] = field(repr=False)  # by the texts that mean it
    noise_names: frozenset[str] = field(repr=False)  # in formulas of sigma, also of cases left out
    outputs: Mapping[str, str] = field(repr=False)  # formulas that hold in all cases
    #: in expressions of cases, also of those left out: tuners may stand there alone
    formula_names: frozenset[str] = field(repr=False)
    notes: tuple[str, ...] = field(repr=False)  # what its source has and the study has not
    shared: SharedColumns = field(repr=False)  # columns for all cases, which these have already
    process_noise: Mapping[str, float | str] = field(repr=False)  # by state
    filter: Filter = field(repr=False)
    partition: Partition = field(repr=False)  # which cases are stretches between gaps of others
    origin: Origin | None = field(repr=False)  # the run whose values it has taken over

    def __init__(
        self,
        model: Model,
        tuners: Iterable[Tuner | str],
        cases: Iterable[Case],
        criterion: str | None = None,
        *,
        estimation: Estimation | None = None,
        solver: Solver | None = None,
        execute: Execution | None = None,
        name: str = "",
        path: Path | None = None,
        tables: Mapping[str, object] | None = None,
        criteria: Iterable[Criterion] = (),
        indicators: Iterable[Indicator] = (),
        code: Mapping[str, TrustedCode] | None = None,
        noise_names: Iterable[str] = (),
        outputs: Mapping[str, str] | None = None,
        columns: Mapping[str, object] | SharedColumns | None = None,
        formula_names: Iterable[str] = (),
        notes: Iterable[str] = (),
        process_noise: Mapping[str, float | str] | None = None,
        filter: Filter | None = None,
        partition: Partition = UNDIVIDED,
        origin: Origin | None = None,
    ) -> None:
        chosen = estimation or Estimation()
        shared, cases = cases_with_columns(model, columns, tuple(cases), outputs or {})
        if criterion is not None:
            chosen = replace(chosen, criterion=criterion)
        found = tuple(Tuner(t) if isinstance(t, str) else t for t in tuners)
        noise, chosen_filter = dict(process_noise or {}), filter or Filter()
        levels = names_in_levels([*noise.values(), *chosen_filter.spreads.values()])
        if chosen.criterion == PREDICTION:
            of_noise = noise_tuners_of(noise, chosen_filter, cases, model.quantities())
            # noise that only cases have which are not fitted is told by none
            fitted = [c for c in cases if c.active and c.role == "calibrate"]
            seen = noise_tuners_of(noise, chosen_filter, fitted, model.quantities())
            found = with_noise_tuners(found, of_noise, seen.keys())
            levels |= frozenset(of_noise)
        own = {
            "bare": model,
            "tuners": found,
            "cases": cases,
            "estimation": chosen,
            "solver": solver or Solver(),
            "execute": execute or Execution(),
            "name": name or (path.stem if path else model.name),
            "path": path,
            "tables": tables or {},
            "criteria": tuple(criteria),
            "indicators": tuple(indicators),
            "code": code or {},
            "noise_names": names_in_sigmas(cases) | levels | set(noise_names),
            "outputs": dict(outputs or {}),
            "formula_names": names_in_cases(cases) | set(formula_names),
            "notes": tuple(notes),
            "shared": shared,
            "process_noise": noise,
            "filter": chosen_filter,
            "partition": partition,
            "origin": origin,
        }
        for key, value in own.items():
            object.__setattr__(self, key, value)
        raise_all(duplicate_names(self.tuners, self.cases, self.criteria))
        raise_all(unreadable_formulas(model, self.outputs, self.cases))

    def with_(
        self,
        *,
        tuners: Iterable[Tuner] | None = None,
        cases: Iterable[Case] | None = None,
        estimation: Estimation | None = None,
        criteria: Iterable[Criterion] | None = None,
        process_noise: Mapping[str, float | str] | None = None,
        partition: Partition | None = None,
        starts: Mapping[str, float] | None = None,
        execute: Execution | None = None,
    ) -> Study:
        """The same study with other tuners, cases, criteria or another way to estimate.

        `starts` are values that tuners start from, by name. Other cases are taken as they are, also
        without what `columns` says for all. The code of another criterion is read now, so that
        every process has the same.
        """
        return Study(
            self.bare,
            started_at(self.tuners if tuners is None else tuple(tuners), starts or {}),
            self.cases if cases is None else cases,
            estimation=estimation or self.estimation,
            solver=self.solver,
            execute=execute or self.execute,
            name=self.name,
            path=self.path,
            tables=self.tables,
            criteria=self.criteria if criteria is None else criteria,
            indicators=self.indicators,
            code=self.code if estimation is None else self._with_code(estimation.criterion),
            noise_names=self.noise_names,
            outputs=self.outputs,
            columns=self.shared,
            formula_names=self.formula_names,
            notes=self.notes,
            process_noise=self.process_noise if process_noise is None else process_noise,
            filter=self.filter,
            partition=partition or self.partition,
            origin=self.origin,
        )

    @property
    def columns(self) -> Mapping[str, object]:
        """Where inputs and outputs of all cases come from, as far as it is said once for all."""
        return dict(self.shared.entries)

    def with_origin(self, origin: Origin | None) -> Study:
        """The same study with a word about where its values are from."""
        same = self.with_()
        object.__setattr__(same, "origin", origin)
        return same

    def use(
        self, result: Result, names: Mapping[str, str] | None = None, *, write: bool = False
    ) -> Study:
        """The study at the values of a fit, an optimum or another result.

        Tuners and free start values start there, other parameters are held there. `names` says
        which names take the values of others, as {"mot.R": "R"}; equal names need none. With
        `write` the study file is changed too; `estimica use --undo` takes that back.
        """
        study: Study = presenter(USE_VALUES)(self, result, names, write)
        return study

    def write(self, path: str | PathLike[str], *, overwrite: bool = False) -> tuple[Path, ...]:
        """Write it as a study file that `read_study` reads back as an equal study.

        Models and data from files are named: by a path relative to the study file where they lie
        below its folder, else by an absolute one. A model given as Modelica text becomes a .mo file
        beside the study file, data that are in no file (or no longer as their file has them) a .csv
        file, with every digit. What a study file cannot hold, as a Python function that is in no
        file, is refused. The study is called like the file when it is read.

        All files that were written are returned, the study file first. Files that are there already
        are only replaced with `overwrite=True`.
        """
        written: tuple[Path, ...] = presenter(STUDY_WRITER)(self, path, overwrite=overwrite)
        return written

    def code_for(self, text: str) -> TrustedCode:
        """The code that "file.py:function" means: as it was read with the study.

        What was not in its file, as a criterion of the command line, is read now.
        """
        known = self.code.get(text)
        return known or trusted_code(text, self.path.parent if self.path else Path())

    def _with_code(self, text: str) -> Mapping[str, TrustedCode]:
        if not means_code(text):
            return self.code
        try:
            return {**self.code, text: self.code_for(text)}
        except CodeRefusedError:  # whoever wants it tells
            return self.code

    @cached_property
    def formulas(self) -> dict[str, str]:
        """Outputs that are formulas: those of the study, and of each name the first of a case."""
        own = {n: t for case in reversed(self.cases) for n, t in case.expressions.items()}
        return {**self.outputs, **{n: t for n, t in own.items() if n not in self.outputs}}

    @cached_property
    def model(self) -> Model:
        """The model with the outputs that are formulas."""
        return self._observed(self.formulas)

    def model_of(self, case: Case) -> Model:
        """The model with the inputs that a case names, and its own formulas of outputs."""
        own = {**self.formulas, **case.expressions}
        model = self.model if own == self.formulas else self._observed(own)
        driven = model.driven_by(tuple(case.inputs))
        if not case.staging:
            return driven
        from estimica.simulate.staged.model import with_stages

        return with_stages(driven, case.staging)

    def _observed(self, formulas: Mapping[str, str]) -> Model:
        """The model with these formulas; parameters of the others stay, since tuners set them."""
        if not formulas:
            return self.bare
        known = self._of_model
        every = {**self.formulas, **formulas}
        texts = {f"{n} {k}": t for k, c in enumerate(self.cases) for n, t in c.expressions.items()}
        own = Observations.of({**self.formulas, **texts, **formulas}, known).parameters
        return self.bare.observed(Observations(tuple(every.items()), own))

    def fixed_of(self, case: Case) -> dict[str, float]:
        """What a case sets to numbers.

        A parameter of formulas of which the case measures none does nothing there, whatever it is.
        """
        if not self.formulas or not case.outputs:
            return case.fixed
        own = {**self.formulas, **case.expressions}
        measured = {n: own[n] for n in case.outputs if n in own}
        needed = {*Observations.of(measured, self._of_model).parameters, *case.fix}
        needed |= {p for t in self.tuners for p in self.driven(t)}
        idle = [n for n in self.observed_parameters if n not in needed]
        return {**dict.fromkeys(sorted(idle), 1.0), **case.fixed}

    @cached_property
    def _parameters(self) -> frozenset[str]:
        return frozenset(q.name for q in self.model.quantities() if q.role in FIXED)

    def driven(self, tuner: Tuner) -> dict[str, str]:
        """Parameters of the model that follow a tuner, each with the expression of its value.

        One that only cases and formulas name drives none; one that drives others is also the
        parameter of its own name where a formula of an output uses it.
        """
        own = {tuner.name: tuner.name}
        if not tuner.drives:
            named = tuner.name in self.formula_names or tuner.name in self.noise_names
            free = named and tuner.name not in self._parameters
            return {} if free else own
        return {**tuner.driven, **(own if tuner.name in self.observed_parameters else {})}

    @cached_property
    def observed_parameters(self) -> frozenset[str]:
        """Parameters of formulas of outputs, which the model itself does not have."""
        return self._parameters - self._of_model if self.formulas else frozenset()

    @cached_property
    def _of_model(self) -> frozenset[str]:
        return frozenset(q.name for q in self.bare.quantities()).union(self.bare.inflow_names)

    def __getstate__(self) -> dict[str, object]:
        """Without the observed model, which another process makes anew."""
        return {n: v for n, v in self.__dict__.items() if n != "model"}

    @property
    def is_backwards(self) -> bool:
        """Whether it only calculates backwards: nothing is found, nothing is compared."""
        return not self.tuners and "backcalculate" in self.tables

    @property
    def active_tuners(self) -> tuple[Tuner, ...]:
        """Tuners that are searched."""
        return tuple(t for t in self.tuners if t.active)

    @property
    def is_design(self) -> bool:
        """Whether something is asked of a design, rightly or wrongly put."""
        return bool(self.active_criteria) or "criterion" in self.tables

    @property
    def active_criteria(self) -> tuple[Criterion, ...]:
        """Criteria of a design that are used."""
        return tuple(c for c in self.criteria if c.active)

    @property
    def active_cases(self) -> tuple[Case, ...]:
        """Cases that are used."""
        return tuple(c for c in self.cases if c.active)

    @property
    def written_cases(self) -> tuple[Case, ...]:
        """Cases that are used as they were given: not in stretches between their gaps."""
        names = dict.fromkeys(self.partition.case_of(c.name) for c in self.active_cases)
        known = {c.name: c for c in self.active_cases} | dict(self.partition.cases)
        return tuple(known[n] for n in names if n in known)

    def __repr__(self) -> str:
        return (
            f"<Study '{self.name}': {len(self.active_tuners)} tuners, "
            f"{len(self.written_cases)} cases, criterion {self.estimation.criterion}>"
        )


def started_at(tuners: tuple[Tuner, ...], starts: Mapping[str, float]) -> tuple[Tuner, ...]:
    """The tuners with other starts; an error where one of them is not a tuner."""
    names = [t.name for t in tuners]
    for name in starts:
        if name not in names:
            hint = did_you_mean(name, names) or f" (there are {', '.join(names)})"
            raise TunerError("T019", f"starts: the study has no tuner '{name}'{hint}")
    return tuple(replace(t, start=starts[t.name]) if t.name in starts else t for t in tuners)


def duplicate_names(
    tuners: Iterable[Tuner], cases: Iterable[Case], criteria: Iterable[Criterion] = ()
) -> list[Problem]:
    """Tuners, cases and criteria whose name is given more than once."""
    problems = []
    for code, word, names in (
        ("T002", "tuner", [t.name for t in tuners]),
        ("C003", "case", [c.name for c in cases]),
        ("O009", "criterion", [c.name for c in criteria]),
    ):
        for name, count in Counter(names).items():
            if count > 1:
                problems.append(
                    Problem(code, f"{word} '{name}'", f"is given {count} times", "rename one")
                )
    return problems
