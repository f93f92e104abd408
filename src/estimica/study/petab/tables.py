"""Tables: a PEtab problem as the tables of a study file, with priors, and the data of its cases."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from estimica.base.errors import StudyError
from estimica.data.table import Data
from estimica.flat import expression as ex
from estimica.flat.evaluate import evaluate
from estimica.flat.expression import Expression
from estimica.flat.modelica_text import write_expression
from estimica.flat.system import FlatSystem
from estimica.study.petab.build import Output, PetabModel, Sample
from estimica.study.petab.problem import Parameter, Prior

#: tolerances of the solver: concentrations of the benchmark collection go down to 1e-6 and less,
#: and its likelihoods are met to 1e-3 with these
SOLVER = {"rtol": 1e-8, "atol": 1e-10}
TIME = "time"


@dataclass(frozen=True)
class PetabStudy:
    """What a study needs: its model, its tables, and the data of each case."""

    flat: FlatSystem
    tables: Mapping[str, Any]
    data: Mapping[str, Data]
    notes: tuple[str, ...] = ()  # what the problem has and the study has not


def study_tables(built: PetabModel) -> PetabStudy:
    """The tables of a study with the cases of a problem, and their data."""
    writer = _Writer(built)
    cases, data = [], {}
    for name, samples in built.samples.items():
        if samples:
            own = built.problem.experiments[name].name
            cases.append(writer.case(name, own))
            data[own] = _data(own, samples)
    estimated = {n: _tuner(built.problem.parameters[n]) for n in built.problem.estimated}
    tables = {
        "model": {"source": f"{built.flat.name}.mo", "class": built.flat.name},
        "tune": {writer.inner(n): tuner for n, tuner in estimated.items()},
        "case": cases,
        "estimate": {"criterion": "ml"},
        "solver": dict(SOLVER),
    }
    notes = tuple(
        f"'{n}': {tuner['description']}" for n, tuner in estimated.items() if "description" in tuner
    )
    return PetabStudy(_without_noise(built), tables, data, notes)


def _tuner(parameter: Parameter) -> dict[str, Any]:
    known = tuner_prior(parameter)
    low, high = max(parameter.low, known.low), min(parameter.high, known.high)
    if not low < high:
        raise StudyError(
            "Q128",
            f"parameter '{parameter.name}': its prior leaves nothing between the bounds "
            f"{parameter.low:g} and {parameter.high:g}",
        )
    logarithmic = parameter.scale != "lin" or known.logarithmic
    start = parameter.value
    if math.isnan(start):
        start = _middle(low, high, logarithmic)
    tuner: dict[str, Any] = {"start": min(max(start, low), high)}
    if math.isfinite(low):
        tuner["min"] = low
    if math.isfinite(high):
        tuner["max"] = high
    if logarithmic:
        tuner["scale"] = "log"
    if known.prior:
        tuner["prior"] = dict(known.prior)
    if known.unused:
        tuner["description"] = known.unused
    return tuner


def _middle(low: float, high: float, logarithmic: bool) -> float:
    if not (math.isfinite(low) and math.isfinite(high)):
        return low if math.isfinite(low) else high if math.isfinite(high) else 1.0
    return math.sqrt(low * high) if logarithmic and low > 0 else (low + high) / 2


class _Writer:
    """Writes cases; parameters that are not estimated are the numbers that they are."""

    def __init__(self, built: PetabModel) -> None:
        self.built = built
        problem = built.problem
        self.values = {n: p.value for n, p in problem.parameters.items() if not p.estimated}
        self.values = {self.inner(n): v for n, v in self.values.items()}
        self.tuners = {self.inner(n) for n in problem.estimated}

    def inner(self, name: str) -> str:
        """The model's name of a parameter."""
        return self.built.problem.aliases.get(name, name)

    def case(self, name: str, title: str) -> dict[str, Any]:
        """One experiment as a case."""
        course, samples = self.built.courses[name], self.built.samples[name]
        entry: dict[str, Any] = {"name": title, "data": f"{_file(title)}.csv", "time": TIME}
        entry["begin"] = course.begin
        outputs = {s.output.name: s.output for s in samples}
        entry["outputs"] = {
            n: self._output(o, [s for s in samples if s.output is o], course.settings)
            for n, o in outputs.items()
        }
        fix = {n: self._value(e, n) for n, e in course.settings.items()}
        if fix:
            entry["fix"] = fix
        return entry

    def _output(
        self, output: Output, samples: Sequence[Sample], settings: Mapping[str, Expression]
    ) -> dict[str, Any]:
        entry: dict[str, Any] = {"column": output.name}
        if output.observable.transformation != "lin":
            entry["transform"] = output.observable.transformation
        if output.observable.distribution != "normal":
            entry["distribution"] = output.observable.distribution
        numbers = {deviation(s) for s in samples}
        if output.noise is not None:
            entry["sigma"] = self._noise(output, settings)
        elif len(numbers) == 1:
            entry["sigma"] = numbers.pop()
        else:
            entry["sigma"] = {"column": noise_column(output)}
        return entry

    def _noise(self, output: Output, settings: Mapping[str, Expression]) -> str | float:
        """A standard deviation as a formula of tuners and of the output."""
        assert output.noise is not None
        observed = _ordered(output.formula)
        formula = _ordered(output.noise)
        if observed.op != "const" and not self._is_known(observed):
            memo = {observed: ex.name(output.name)}
            formula = ex.rewrite([formula], lambda e: memo.get(e, e), memo)[0]
        formula = ex.mul(ex.const(_spread(output)), formula)
        return self._value(formula, f"noise of '{output.name}'", settings, {output.name})

    def _value(
        self,
        e: Expression,
        what: str,
        settings: Mapping[str, Expression] | None = None,
        outputs: Iterable[str] = (),
    ) -> str | float:
        """A number, or a formula of tuners and outputs."""
        known = settings or {}

        def leaf(x: Expression) -> Expression:
            if x.op != "name" or x.target in outputs:
                return x
            if x.target in known:
                return ex.rewrite([known[x.target]], leaf)[0]
            value = self.values.get(x.target)
            return x if value is None else ex.const(value)

        formula = ex.rewrite([e], leaf)[0]
        unknown = sorted(ex.names_in(formula) - self.tuners - set(outputs))
        if any(n in self._constants for n in unknown):
            formula = self._with_constants(formula)
            unknown = sorted(ex.names_in(formula) - self.tuners - set(outputs))
        if unknown:
            raise StudyError(
                "Q127",
                f"{what} depends on '{unknown[0]}' of the model; a study can use parameters "
                "that are estimated and the observable itself",
            )
        if not ex.names_in(formula) and "time" not in {x.op for x in ex.walk(formula)}:
            return evaluate(formula)
        return write_expression(formula)

    def _is_known(self, e: Expression) -> bool:
        """Whether an expression is one of parameters only."""
        return all(n in self.tuners or n in self._constants for n in ex.names_in(e))

    @property
    def _constants(self) -> Mapping[str, Expression]:
        return {v.name: v.binding for v in self.built.flat.variables if v.binding is not None}

    def _with_constants(self, e: Expression) -> Expression:
        constants = self._constants

        def leaf(x: Expression) -> Expression:
            if x.op != "name" or x.target in self.tuners or x.target not in constants:
                return x
            return ex.rewrite([constants[x.target]], leaf)[0]

        return ex.rewrite([e], leaf)[0]


def _ordered(e: Expression) -> Expression:
    """Sums and products with their operands in one order, so that equal ones are the same."""
    memo: dict[Expression, Expression] = {}
    texts: dict[Expression, str] = {}
    for x in ex.walk(e):
        operands = [memo[a] for a in x.operands]
        if x.op in ("add", "mul"):
            operands.sort(key=lambda a: texts[a])
        memo[x] = ex.rebuild(x, operands) if operands else x
        texts[memo[x]] = write_expression(memo[x])
    return memo[e]


def _spread(output: Output) -> float:
    """Standard deviations in one unit of PEtab's noise: of Laplace noise that is the scale b."""
    return math.sqrt(2.0) if output.observable.distribution == "laplace" else 1.0


def deviation(sample: Sample) -> float | None:
    """The standard deviation of a sample whose noise is a number."""
    known = sample.noise.known
    return None if known is None else known * _spread(sample.output)


def noise_column(output: Output) -> str:
    """The column with the standard deviation of each sample of an output."""
    return f"sigma of {output.name}"


def _file(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in name)


def _data(name: str, samples: Sequence[Sample]) -> Data:
    """One row for each time stamp, and more where there are replicates; NaN: not sampled."""
    rows: dict[tuple[float, int], dict[str, float]] = {}
    seen: dict[tuple[str, float], int] = {}
    columns: dict[str, None] = {}
    for s in samples:
        count = seen.get((s.output.name, s.time), 0)
        seen[s.output.name, s.time] = count + 1
        row = rows.setdefault((s.time, count), {})
        row[s.output.name] = s.value
        columns[s.output.name] = None
        if s.output.noise is None:
            known = deviation(s)
            assert known is not None
            row[noise_column(s.output)] = known
            columns[noise_column(s.output)] = None
    for output in {s.output.name: s.output for s in samples}.values():
        if len({deviation(s) for s in samples if s.output is output}) == 1:
            columns.pop(noise_column(output), None)  # one number says it
    ordered = sorted(rows)
    table = {TIME: np.array([time for time, _ in ordered])}
    for column in columns:
        table[column] = np.array([rows[k].get(column, math.nan) for k in ordered])
    return Data(name, table)


def _without_noise(built: PetabModel) -> FlatSystem:
    """The model without standard deviations and what only they need: the study has formulas."""
    flat = built.flat
    noises = {s.noise.variable for samples in built.samples.values() for s in samples}
    equations = tuple(
        e for e in flat.equations if not (e.lhs.op == "name" and e.lhs.target in noises)
    )
    used = {n for e in equations for n in ex.names_in(e.lhs, e.rhs)}
    used |= {
        n
        for v in flat.variables
        for e in (v.binding, v.start)
        if e is not None
        for n in ex.names_in(e)
    }
    used |= {
        n
        for w in flat.whens
        for b in w.branches
        for e in (*b.conditions, *(a.value for a in b.actions))
        for n in ex.names_in(e)
    }
    idle = {n for n in built.problem.parameters if n not in used}
    kept = tuple(v for v in flat.variables if v.name not in noises and v.name not in idle)
    return replace(flat, variables=kept, equations=equations)


@dataclass(frozen=True)
class TunerPrior:
    """A prior as a tuner has it: a Gaussian, or bounds; `unused` says what it cannot have."""

    prior: Mapping[str, float | str] = field(default_factory=dict)
    low: float = -math.inf
    high: float = math.inf
    logarithmic: bool = False  # flat on the logarithm
    unused: str = ""


def tuner_prior(parameter: Parameter) -> TunerPrior:
    """What is known of an estimated parameter beforehand.

    Normal priors are those of a tuner, of the value or of a logarithm; uniform ones are bounds.
    """
    prior = parameter.prior
    if prior is None:
        return TunerPrior()
    scale = parameter.scale if prior.on_scale and parameter.scale != "lin" else "value"
    if prior.shape in ("normal", "log-normal"):
        mean, sigma = _two(prior, parameter)
        on = "log" if prior.shape == "log-normal" else scale
        return TunerPrior({"mean": mean, "sigma": sigma, **({} if on == "value" else {"on": on})})
    if prior.shape in ("uniform", "log-uniform"):
        low, high = (_plain(x, scale) for x in _two(prior, parameter))
        return TunerPrior(low=low, high=high, logarithmic=prior.shape == "log-uniform")
    numbers = "; ".join(f"{x:g}" for x in prior.numbers)
    where = "" if scale == "value" else f" on {scale}"
    return TunerPrior(unused=f"its {prior.shape} prior{where} ({numbers}) is not used")


def _two(prior: Prior, parameter: Parameter) -> tuple[float, float]:
    if len(prior.numbers) != 2:
        raise StudyError(
            "Q129",
            f"parameter '{parameter.name}': a {prior.shape} prior has two numbers, not "
            f"{len(prior.numbers)}; write them as 'first; second'",
        )
    return prior.numbers[0], prior.numbers[1]


def _plain(x: float, scale: str) -> float:
    """A value on the search scale as a plain one; what is beyond all numbers is not a bound."""
    if scale == "value":
        return x
    try:
        return math.exp(x) if scale == "log" else 10.0**x
    except OverflowError:
        return math.inf
