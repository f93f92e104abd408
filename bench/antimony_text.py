"""The problems in Antimony, the language that AMICI takes; inputs change by events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

from problems import Problem


@dataclass(frozen=True)
class AntimonyModel:
    """Text, formulas of the outputs, parameters that are not tuned, and tuners in their order."""

    text: str
    outputs: dict[str, str]
    fixed: tuple[str, ...]
    tuners: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        """For the other process."""
        return asdict(self)


def antimony(problem: Problem) -> AntimonyModel | None:
    """The problem's model, or None where Antimony has no words for it."""
    writer = _WRITERS.get(problem.name)
    return writer(problem) if writer else None


def _assigned(values: dict[str, float]) -> str:
    return " ".join(f"{n} = {v!r};" for n, v in values.items())


def _inputs(problem: Problem) -> str:
    """Start values of the inputs and an event for each change."""
    starts, levels = problem.pieces
    names = list(problem.inputs)
    lines = [_assigned(dict(zip(names, map(float, levels[0]), strict=True)))] if names else []
    for k in range(1, len(starts)):
        moves = ", ".join(f"{n} = {float(v)!r}" for n, v in zip(names, levels[k], strict=True))
        lines.append(f"change{k}: at time >= {float(starts[k])!r}: {moves};")
    return "\n".join(lines)


def _model(*parts: str) -> str:
    return "model problem\n" + "\n".join(parts) + "\nend\n"


def _boiler(problem: Problem) -> AntimonyModel:
    fixed = {"K1": 0.3, "K2": 0.064, "K3": 0.32, "A1": 14.0, "A2": 3.3, "A3": 15.0}
    text = _model(
        _assigned(problem.tuners),
        _assigned(fixed),
        "x1 = x10; x2 = x20;",
        "x1' = K1/T_D*(A1*fc - A2*uc*x1);",
        "x2' = K2/T_R*(A2*uc*x1 - A3*x2);",
        _inputs(problem),
    )
    outputs = {"y1": "K3*(A4*A2*uc*x1 + (1 - A4)*A3*x2) + w_E", "y2": "x1 + w_P"}
    return AntimonyModel(text, outputs, tuple(fixed), tuple(problem.tuners))


def _four_states(problem: Problem) -> AntimonyModel:
    text = _model(
        _assigned(problem.tuners),
        "x1 = x10; x2 = x20; x3 = x30; x4 = x40;",
        "x1' = -a1*x1*x3 + a2*x2 + x3;",
        "x2' = -b1*x1 - b2*x2 + x4;",
        "x3' = -c1*x3 + c2*x4 + u1;",
        "x4' = -d1*x3 - d2*x3*x4 + u2;",
        _inputs(problem),
    )
    return AntimonyModel(text, {f"y{i}": f"x{i}" for i in range(1, 5)}, (), tuple(problem.tuners))


def _robertson(problem: Problem) -> AntimonyModel:
    text = _model(
        _assigned(problem.tuners),
        "x1 = 1; x2 = 0; x3 = 0;",
        "x1' = -k1*x1 + k3*x2*x3;",
        "x2' = k1*x1 - k2*x2^2 - k3*x2*x3;",
        "x3' = k2*x2^2;",
    )
    return AntimonyModel(text, {f"y{i}": f"x{i}" for i in range(1, 4)}, (), tuple(problem.tuners))


def _heat_rod(problem: Problem) -> AntimonyModel:
    n, dx = 100, 0.01
    tuners = {f"k{i}": v for i, v in enumerate(problem.tuners.values())}

    def k(i: int) -> str:
        return f"k{i // 5}"

    def flow(i: int) -> str:
        """Into cell i from the left."""
        if i == 0:
            return f"{2 / dx}*{k(0)}*(u - x0)"
        if i == n:
            return f"{2 / dx}*{k(n - 1)}*x{n - 1}"
        mean = k(i) if k(i - 1) == k(i) else f"2/(1/{k(i - 1)} + 1/{k(i)})"
        return f"{1 / dx}*{mean}*(x{i - 1} - x{i})"

    text = _model(
        _assigned(tuners),
        _assigned({f"x{i}": 0.0 for i in range(n)}),
        *(f"x{i}' = {1 / dx}*({flow(i)} - ({flow(i + 1)}));" for i in range(n)),
        _inputs(problem),
    )
    return AntimonyModel(text, {f"y{i}": f"x{i}" for i in range(4, n, 10)}, (), tuple(tuners))


def _pendulum(problem: Problem) -> AntimonyModel:
    """The pull of the rod follows from the other variables."""
    pull = "(vx^2 + vy^2 - d*(x*vx + y*vy) - g*y)/(x^2 + y^2)"
    text = _model(
        _assigned(problem.tuners),
        "x = L*sin(phi0); y = -L*cos(phi0); vx = 0; vy = 0;",
        f"x' = vx; y' = vy; vx' = -({pull})*x - d*vx; vy' = -({pull})*y - g - d*vy;",
    )
    return AntimonyModel(text, {"y1": "x", "y2": "y", "y3": pull}, (), tuple(problem.tuners))


_WRITERS: dict[str, Callable[[Problem], AntimonyModel]] = {
    "A": _boiler,
    "A1": _boiler,
    "B": _four_states,
    "Rob": _robertson,
    "Heat": _heat_rod,
    "Pend": _pendulum,
}
