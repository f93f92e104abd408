"""Help for tests of decoded systems: load a text, and evaluate what its equations say."""

from __future__ import annotations

from estimica.flat.evaluate import EvaluationPoint, evaluate
from estimica.flat.expression import Expression
from estimica.flat.system import FlatSystem
from estimica.source.load import load_flat


def load(text: str, class_name: str | None = None, **options) -> FlatSystem:
    return load_flat(text, class_name, cache=False, **options)


def solved_for(system: FlatSystem, name: str, *, initial: bool = False) -> Expression:
    """The right side of the equation whose left side is `name` (or der(name))."""
    equations = system.initial_equations if initial else system.equations
    for e in equations:
        for side, other in ((e.lhs, e.rhs), (e.rhs, e.lhs)):
            if side.op in ("name", "der") and _shown(side) == name:
                return other
    raise AssertionError(f"no equation for {name} among {[_shown(e.lhs) for e in equations]}")


def _shown(e: Expression) -> str:
    return e.target if e.op == "name" else f"der({e.target})"


def parameter_values(system: FlatSystem) -> dict[str, float]:
    """Numbers of all parameters with bindings, dependent ones included."""
    values: dict[str, float] = {}
    pending = {v.name: v.binding for v in system.variables if v.binding is not None}
    while pending:
        ready = {}
        for name, binding in pending.items():
            try:
                ready[name] = evaluate(binding, values)
            except KeyError:
                continue
        assert ready, f"parameters that depend on each other: {sorted(pending)}"
        values.update(ready)
        pending = {n: b for n, b in pending.items() if n not in values}
    return values


def value(system: FlatSystem, name: str, *, initial: bool = False, **names: float) -> float:
    """What the equation for `name` gives; dots and brackets in names are passed by a dictionary."""
    return value_at(system, name, names, initial=initial)


def value_at(
    system: FlatSystem,
    name: str,
    names: dict[str, float],
    *,
    initial: bool = False,
    time: float = 0.0,
    previous: dict[str, float] | None = None,
) -> float:
    point = EvaluationPoint(
        names={**parameter_values(system), **names},
        derivatives=dict(names.items()),
        previous=previous or {},
        time=time,
    )
    return evaluate(solved_for(system, name, initial=initial), values=point)


def unknowns(system: FlatSystem) -> int:
    return sum(
        v.variability.value in ("continuous", "discrete") and v.causality != "input"
        for v in system.variables
    )


def determined(system: FlatSystem) -> int:
    """Equations and variables that when-clauses set."""
    targets = {
        a.target for w in system.whens for b in w.branches for a in b.actions if not a.reinit
    }
    return len(system.equations) + len(targets)
