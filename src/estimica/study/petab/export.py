"""Export: a study with an ODE model as a PEtab problem, version 1, in a folder."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from estimica.base.errors import StudyError
from estimica.base.files.write import make_folder, write_text
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.source.formula import parse_formula
from estimica.source.sbml.write import ExplicitModel, write_formula, write_sbml
from estimica.structure.sorted_system import Assignment, Relation, SortedSystem
from estimica.study.fields.noise import Sigma
from estimica.study.record.noise import SigmaFormula
from estimica.study.record.samples import MeasuredOutput, record_for

if TYPE_CHECKING:
    from estimica.study.case import Case
    from estimica.study.study import Study
    from estimica.study.tuner import Tuner

Cells = Sequence[str | float]


def write_petab(study: Study, folder: str | PathLike[str]) -> Path:
    """Write a study as a PEtab problem into a folder; the path of its YAML file comes back.

    The model must be one of ordinary differential equations without events, and its inputs numbers.
    A noise level that the study leaves open becomes a parameter `sigma_…`.
    """
    texts = _Export(study).texts()
    target = Path(folder)
    make_folder(target)
    for name, text in texts.items():
        write_text(target / name, text)
    return target / "problem.yaml"


@dataclass(frozen=True)
class _Observable:
    """One row of the observable table, and whether samples bring their noise."""

    name: str
    formula: str
    noise: str
    transformation: str
    distribution: str


class _Export:
    """Collects the tables; every name is an identifier of SBML."""

    def __init__(self, study: Study) -> None:
        from estimica.simulate.modelica.model import ModelicaModel

        if not isinstance(study.model, ModelicaModel):
            raise StudyError(
                "Q140", f"'{study.model.name}' has no equations; PEtab needs a Modelica model"
            )
        self.study, self.system = study, study.model.system
        self.flat = study.model.flat
        self.names = _Identifiers()
        self.observables: dict[str, _Observable] = {}
        self.noise: dict[str, float] = {}  # levels that are left open, with a start
        self.measurements: list[Cells] = []
        self.conditions: dict[str, dict[str, str | float]] = {}

    def texts(self) -> dict[str, str]:
        """File names and contents."""
        _refuse_system(self.system)
        rules = self._rules()
        for case in self.study.active_cases:
            if case.role == "calibrate":
                self._case(case)
        return {
            "model.xml": write_sbml(rules),
            "parameters.tsv": _table(PARAMETERS, self._parameters()),
            "conditions.tsv": self._conditions(),
            "observables.tsv": _table(
                OBSERVABLES,
                (
                    (o.name, o.formula, o.noise, o.transformation, o.distribution)
                    for o in self.observables.values()
                ),
            ),
            "measurements.tsv": _table(MEASUREMENTS, self.measurements),
            "problem.yaml": YAML,
        }

    # --- the model ------------------------------------------------------------------------------

    def _rules(self) -> ExplicitModel:
        s = self.system
        assigned = [b for b in s.blocks if isinstance(b, Assignment)]
        rates = {f"der({n})" for n in s.states}
        pairs = [(a.unknown, a.value) for a in assigned if a.unknown not in rates]
        pairs += list(s.aliases.items())
        inputs = {n: ex.const(0.0) for n in s.inputs}
        bindings = {n: s.bindings.get(n) for n in s.parameters}
        starts = {n: s.starts.get(n, ex.ZERO) for n in s.states}
        for name in (*bindings, *inputs, *s.states, *(n for n, _ in pairs)):
            self.names[name]
        return ExplicitModel(
            self.names[self.flat.name],
            {self.names[n]: e and self._spelt(e) for n, e in (bindings | inputs).items()},
            {
                self.names[a.unknown[4:-1]]: self._spelt(a.value)
                for a in assigned
                if a.unknown in rates
            },
            {self.names[n]: self._spelt(e) for n, e in starts.items()},
            [(self.names[n], self._spelt(e)) for n, e in pairs],
        )

    def _spelt(self, e: Expression) -> Expression:
        """With identifiers for names, and relations for the modes of events."""

        def leaf(x: Expression) -> Expression:
            if x.op == "name":
                return ex.name(self.names[x.target])
            if x.op == "mode":
                return self._spelt(_truth(self.system.relations[int(str(x.args[0]))]))
            if x.op == "der":
                rate = next(
                    b.value
                    for b in self.system.blocks
                    if isinstance(b, Assignment) and b.unknown == f"der({x.target})"
                )
                return self._spelt(rate)
            return x

        return ex.rewrite([e], leaf)[0]

    def _formula(self, text: str, where: str) -> str:
        """A formula of the study as PEtab writes it."""
        return write_formula(self._spelt(parse_formula(text, where).expression))

    # --- cases ----------------------------------------------------------------------------------

    def _case(self, case: Case) -> None:
        _refuse_case(case)
        data = record_for(case, self.study.model_of(case), self.study.shared)
        if data.begin != 0.0:
            raise StudyError(
                "Q142",
                f"case '{case.name}' begins at {data.begin:g}; PEtab begins at 0: shift its time "
                "or write begin = 0",
            )
        condition = self.names[f"condition {case.name}"]
        own = self.conditions.setdefault(condition, {})
        for name, value in case.fix.items():
            text = value if isinstance(value, str) else None
            own[self.names[name]] = value if text is None else self._parameter_named(text, case)
        for name, given in case.inputs.items():
            if isinstance(given, (int, float)):  # others are refused
                own[self.names[name]] = float(given)
        for measured in data.outputs:
            self._output(case, condition, measured)

    def _parameter_named(self, text: str, case: Case) -> str:
        """Version 1 sets a condition to a number or to a parameter, not to an expression."""
        if text not in {t.name for t in self.study.tuners}:
            raise StudyError(
                "Q143",
                f"case '{case.name}': fix '{text}' is an expression; PEtab takes the name of a "
                "tuner there",
            )
        return self.names[text]

    def _output(self, case: Case, condition: str, m: MeasuredOutput) -> None:
        formula = case.expressions.get(m.name) or self.study.formulas.get(m.name)
        written = self._formula(formula, m.name) if formula else self.names[m.name]
        noise, overrides = self._noise(m)
        transform = m.transform.text if m.transform is not None else "lin"
        if transform not in ("lin", "log", "log10"):
            raise StudyError(
                "Q144", f"output '{m.name}': PEtab has no transform '{transform}'; log and log10"
            )
        key = f"{written} {noise} {transform} {m.distribution}"
        name = self.names[f"observable_{m.name}", key]
        noise = noise.replace("noiseParameter1_", f"noiseParameter1_{name}")
        self.observables[name] = _Observable(name, written, noise, transform, m.distribution)
        for t, y, s in zip(m.time, m.value, overrides, strict=True):
            self.measurements.append((name, condition, float(t), float(y), s))

    def _noise(self, m: MeasuredOutput) -> tuple[str, Sequence[str | float]]:
        """The noise formula and what each sample puts into it; Laplace noise is given by b."""
        b = 1 / math.sqrt(2.0) if m.distribution == "laplace" else 1.0
        none: Sequence[str | float] = [""] * len(m.time)
        if m.relative is not None and isinstance(m.sigma, float):
            return "noiseParameter1_", [float(b * m.sigma * r) for r in m.relative]
        if isinstance(m.sigma, SigmaFormula):
            # what is simulated comes before a column of the same name
            columns = [n for n in m.sigma.known if n not in self.names and n != "time"]
            if columns:
                raise StudyError(
                    "Q145",
                    f"output '{m.name}': sigma uses '{columns[0]}' of the data, PEtab cannot",
                )
            text = self._formula(m.sigma.text, "sigma")
            return (text if b == 1.0 else f"{b!r} * ({text})"), none
        if isinstance(m.sigma, float):
            return repr(b * m.sigma), none
        shared = m.sigma.shared if isinstance(m.sigma, Sigma) and m.sigma.shared else m.name
        name = self.names[f"sigma_{shared}"]
        self.noise.setdefault(name, 0.1 * max(m.rms, 1e-12))
        return name if b == 1.0 else f"{b!r} * {name}", none

    # --- tables ---------------------------------------------------------------------------------

    def _parameters(self) -> Iterable[Cells]:
        for tuner in self.study.active_tuners:
            driven = tuner.driven
            if tuner.drives and driven != {tuner.name: tuner.name}:
                raise StudyError(
                    "Q146",
                    f"tuner '{tuner.name}' drives other parameters, which PEtab cannot say; "
                    "write it into the model",
                )
            yield self._tuner(tuner)
        for name, start in self.noise.items():
            yield name, "log10", 1e-8 * start, 1e8 * start, start, 1

    def _tuner(self, tuner: Tuner) -> Cells:
        known = {q.name: q.value for q in self.study.model.quantities()}
        start = known.get(tuner.name, 0.0) if tuner.start is None else tuner.start
        logarithmic = tuner.scale == "log"
        low = max(tuner.min, 1e-300) if logarithmic else tuner.min
        scale = "log10" if logarithmic else "lin"
        return self.names[tuner.name], scale, low, tuner.max, float(start or 0.0), 1

    def _conditions(self) -> str:
        columns = list(dict.fromkeys(n for own in self.conditions.values() for n in own))
        rows = ((c, *(own.get(n, "") for n in columns)) for c, own in self.conditions.items())
        return _table(("conditionId", *columns), rows)


PARAMETERS = (
    "parameterId",
    "parameterScale",
    "lowerBound",
    "upperBound",
    "nominalValue",
    "estimate",
)
OBSERVABLES = (
    "observableId",
    "observableFormula",
    "noiseFormula",
    "observableTransformation",
    "noiseDistribution",
)
MEASUREMENTS = ("observableId", "simulationConditionId", "time", "measurement", "noiseParameters")
YAML = """format_version: 1
parameter_file: parameters.tsv
problems:
- sbml_files: [model.xml]
  condition_files: [conditions.tsv]
  observable_files: [observables.tsv]
  measurement_files: [measurements.tsv]
"""


class _Identifiers(dict[object, str]):
    """Identifiers of SBML for names of the study, made when they are first asked for."""

    def __missing__(self, key: object) -> str:
        wish = key[0] if isinstance(key, tuple) else str(key)
        plain = re.sub(r"[^A-Za-z0-9_]", "_", str(wish))
        plain = plain if plain[:1].isalpha() or plain[:1] == "_" else f"_{plain}"
        name, k, taken = plain, 1, set(self.values())
        while name in taken or name in ("time", "avogadro", "pi", "inf", "nan"):
            k += 1
            name = f"{plain}_{k}"
        self[key] = name
        return name


def _table(header: Sequence[str], rows: Iterable[Cells]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter="\t", lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow([repr(float(c)) if isinstance(c, float) else c for c in row])
    return out.getvalue()


def _truth(relation: Relation) -> Expression:
    """What a mode means."""
    if relation.instant is not None:
        return ex.relation("lt" if relation.until else "ge", ex.TIME, relation.instant)
    return ex.relation("gt" if relation.strict else "ge", relation.difference, ex.ZERO)


def _refuse_system(s: SortedSystem) -> None:
    loops = [b for b in s.blocks if not isinstance(b, Assignment)]
    for odd, why in (
        (loops, "has equations that are solved together"),
        (s.reinits or s.memories or s.logicals, "has events"),
        (s.delays, "has delays"),
        (s.constraints or s.initial_equations, "has initial equations or constraints"),
        (s.free_parameters, "has parameters that the start determines"),
    ):
        if odd:
            raise StudyError(
                "Q141",
                f"'{s.flat.name}' {why}; only explicit differential equations are exported",
            )


def _refuse_case(case: Case) -> None:
    columns = [n for n, c in case.inputs.items() if not isinstance(c, (int, float, np.floating))]
    free = list(case.start_values)
    for odd, why in (
        (case.is_frequency, "is a frequency response"),
        (columns, f"has an input from data, '{columns[0] if columns else ''}'"),
        (free, f"has a free start value, '{free[0] if free else ''}'; tune a parameter instead"),
        (case.prefilter, "has a prefilter"),
    ):
        if odd:
            raise StudyError("Q147", f"case '{case.name}' {why}; PEtab cannot say that")
