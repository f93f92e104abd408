"""The yardstick: a C driver compiled for one model, around functions that CasADi writes in C."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import casadi as ca
import numpy as np
from engines import Engine, Missing
from problems import RTOL, Equations, Problem, Vector

SOURCES = Path(__file__).parent / "c"
FLAGS = ("-O3", "-march=native", "-fPIC", "-shared")


class StaticC(Engine):
    """Dormand-Prince, or Rosenbrock for stiff problems, with all sizes compiled in."""

    name = "static C"
    sees = "after"

    def __init__(self, problem: Problem, folder: Path) -> None:
        begun = time.perf_counter()
        if shutil.which("gcc") is None:
            raise Missing("no gcc on PATH")
        home = folder / f"static-c-{problem.name}"
        home.mkdir(exist_ok=True)
        self.label = "Rosenbrock" if problem.stiff else "Dormand-Prince"
        library = _compile(problem, home)
        self._run = BoundDriver(library, problem)
        self.prepare_s = time.perf_counter() - begun
        self._run()

    def evaluate(self) -> None:
        """One run."""
        self._run()

    def result(self) -> tuple[Vector, Vector]:
        """Samples and Jacobian of the last run."""
        return self._run.Y, self._run.J

    @property
    def note(self) -> str:
        """The cost of the last run."""
        return f"{self.label}, {self._run.counters[0]}+{self._run.counters[1]} steps"


def _compile(problem: Problem, home: Path) -> Path:
    e = problem.equations.explicit()
    if problem.stiff:
        functions = _stiff_functions(problem, e, home)
        driver = "rosenbrock.c"
    else:
        functions, driver = _plain_functions(e), "dormand_prince.c"
    _generate(functions, home)
    sizes = {
        "NX": e.x.numel(), "NZ": e.z.numel(), "NP": e.p.numel(), "NU": e.u.numel(),
        "NY": e.y.numel(), "BAND": problem.band,
        "WORK": max(f.sz_w() for f in functions) + 16, "IWORK": max(f.sz_iw() for f in functions),
    }  # fmt: skip
    _write(home / "sizes.h", (f"#define {name} {value}" for name, value in sizes.items()))
    library = home / f"driver-{time.time_ns()}.so"  # a loaded library keeps its name for good
    for old in home.glob("driver-*.so"):
        old.unlink()
    command = ["gcc", *FLAGS, f"-I{home}", f"-I{SOURCES}", str(home / "model.c"),
               str(SOURCES / driver), "-o", str(library), "-lm"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Missing(f"gcc failed: {done.stderr.strip()[:300]}")
    return library


def _plain_functions(e: Equations) -> list[ca.Function]:
    rows = ca.SX.sym("rows", e.p.numel(), e.x.numel())  # S row by row

    def tuned(expression: ca.SX) -> ca.SX:
        return ca.densify(ca.substitute(e.rates(expression), e.S, rows.T).T)

    point = [e.t, e.x, rows, e.z, e.p, e.u]
    found = [
        _function("both", point, [ca.densify(e.f), tuned(e.f)]),
        _function("output", point, [ca.densify(e.y), tuned(e.y)]),
        _start(e),
    ]
    if e.z.numel():
        jacobian = ca.densify(ca.jacobian(e.g, e.z))
        found.append(_function("algebraic", [e.t, e.x, e.z, e.p, e.u], [ca.densify(e.g), jacobian]))
    return found


def _stiff_functions(problem: Problem, e: Equations, home: Path) -> list[ca.Function]:
    assert not e.z.numel()
    k = ca.SX.sym("k", e.x.numel())
    f_x, f_p = ca.jacobian(e.f, e.x), ca.jacobian(e.f, e.p)
    along = ca.jtimes(e.f, e.x, k)
    d_x, d_p = ca.jacobian(along, e.x), ca.jacobian(along, e.p)
    rows = ca.SX.sym("rows", e.p.numel(), e.x.numel())
    tuned = ca.densify(ca.substitute(e.rates(e.y), e.S, rows.T).T)
    lines = []
    for tag, matrix in (("x", f_x), ("p", f_p), ("dx", d_x), ("dp", d_p)):
        row, column = matrix.sparsity().get_triplet()
        lines.append(f"#define NNZ_{tag.upper()} {len(row)}")
        for axis, index in (("row", row), ("col", column)):
            lines.append(
                f"static const int {tag}_{axis}[] = {{{', '.join(map(str, index)) or '0'}}};"
            )
    _write(home / "sparsity.h", lines)
    _write(home / "table.h", _rosenbrock_table(home))
    return [
        _function("linear", [e.t, e.x, e.p, e.u], [ca.densify(e.f), f_x, f_p]),
        _function("second", [e.t, e.x, e.p, e.u, k], [d_x, d_p]),
        _function("output", [e.t, e.x, rows, e.p, e.u], [ca.densify(e.y), tuned]),
        _start(e),
    ]


def _start(e: Equations) -> ca.Function:
    rates = ca.densify(ca.jacobian(e.x0, e.p).T)
    return _function("start", [e.p], [ca.densify(e.x0), rates])


def _function(name: str, arguments: list[ca.SX], results: list[ca.SX]) -> ca.Function:
    return ca.Function(name, arguments, results, {"cse": True})


def _rosenbrock_table(home: Path) -> list[str]:
    """The coefficients as CasADi writes them with its own rosenbrock integrator."""
    x = ca.SX.sym("x")
    integrator = ca.integrator("rosenbrock", "rosenbrock", {"x": x, "ode": -x}, 0.0, 1.0)
    writer = ca.CodeGenerator("rosenbrock_table.c")
    writer.add(integrator)
    writer.generate(f"{home}/")
    text = (home / "rosenbrock_table.c").read_text()
    found = {
        int(number): values
        for number, values in re.findall(
            r"casadi_real casadi_c(\d+)\[\d+\]\s*=\s*\{([^}]*)\}", text
        )
    }
    names = ("A", "ALPHA", "M", "D", "E", "C", "GAMMAS")
    if not all(k in found for k in range(len(names))):
        raise Missing("this CasADi writes its rosenbrock coefficients in another way")
    lines = [f"static const double {n}[] = {{{found[k]}}};" for k, n in enumerate(names)]
    return [*lines, f"#define GAMMA {found[6].split(',')[0].strip()}"]


def _generate(functions: list[ca.Function], home: Path) -> None:
    writer = ca.CodeGenerator("model.c", {"casadi_int": "long long"})
    for f in functions:
        writer.add(f)
    writer.generate(f"{home}/")


def _write(file: Path, lines: Iterable[str]) -> None:
    file.write_text("\n".join(lines) + "\n")


class BoundDriver:
    """The compiled driver with its arguments and results attached."""

    def __init__(self, library: Path, problem: Problem) -> None:
        e = problem.equations
        n, ny, m = len(problem.times), e.y.numel(), e.p.numel()
        self.Y, self.J = np.zeros((n, ny)), np.zeros((n, ny, m))
        self.counters = np.zeros(2, np.int64)
        starts, inputs = problem.pieces
        guess = problem.equations.explicit().z0
        self._kept = (problem.theta, guess, np.ascontiguousarray(problem.times), starts, inputs)
        p, z0, times, starts, inputs = (a.ctypes.data_as(ctypes.c_void_p) for a in self._kept)
        Y, J, counters = (
            a.ctypes.data_as(ctypes.c_void_p) for a in (self.Y, self.J, self.counters)
        )
        number = ctypes.c_double
        self._arguments = (
            p, z0, n, times, len(self._kept[3]), starts, inputs, number(RTOL),
            number(problem.atol), Y, J, counters,
        )  # fmt: skip
        self._call: Callable[..., int] = ctypes.CDLL(str(library)).simulate

    def __call__(self) -> None:
        code = self._call(*self._arguments)
        assert code == 0, f"the C driver failed with {code}"
