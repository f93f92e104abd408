"""The text for GPUs, compiled for the CPU by the C compiler of the machine where it has one: the
same numbers as the scalar engine."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import estimica as es
from estimica.base.signals import Hold, Signal
from estimica.simulate.engine import status
from estimica.simulate.ensemble.backends import Ensemble
from estimica.simulate.ensemble.cuda.backend import CudaEnsemble
from estimica.simulate.ensemble.cuda.build import program_of, refusal
from estimica.simulate.ensemble.cuda.launcher import Launcher, available
from estimica.simulate.ensemble.cuda.program import Program
from estimica.simulate.ensemble.cuda.runner import run_normal, run_samples
from estimica.simulate.ensemble.members import Measured

COMPILER = shutil.which("cc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler (cc) on this machine")

#: threads one after the other
DRIVER = """
void all_threads(RUN_PARAMETERS)
{
  blockDim.x = 1;
  for (int k = 0; k < count; k++) {
    blockIdx.x = k;
    run(count, some, members, thetas, starts, values, slopes, times, n_pieces, n_times, measured,
        stride, picked, picks, weight, apart, square, gradient, information, status, place, stopped);
  }
}
"""


class HostLauncher(Launcher):
    """The CPU as a device of one thread, with NumPy's memory."""

    xp = np

    def __init__(self, folder: Path, room: int = 1 << 30) -> None:
        self.folder, self._room = Path(tempfile.mkdtemp(dir=folder)), room
        self.libraries: dict[tuple[str, int], Any] = {}
        self.launches: list[int] = []

    def run(
        self, text: str, mode: int, count: int, block: int, arguments: Sequence[object]
    ) -> None:
        self.launches.append(count)
        given = [a.ctypes if isinstance(a, np.ndarray) else _scalar(a) for a in arguments]
        self._library(text, mode).all_threads(*given)

    def room(self) -> int:
        return self._room

    def to_host(self, array: Any) -> Any:
        return array

    def _library(self, text: str, mode: int) -> Any:
        if (text, mode) not in self.libraries:
            stem = self.folder / f"text{len(self.libraries)}"
            stem.with_suffix(".c").write_text(text + DRIVER)
            subprocess.run(
                [
                    str(COMPILER), "-std=c11", "-O0", "-Wall", "-Werror", "-Wno-unknown-pragmas",
                    "-Wno-unused-function", "-Wno-unused-variable", "-shared", "-fPIC",
                    f"-DMODE={mode}", "-o", str(stem.with_suffix(".so")),
                    str(stem.with_suffix(".c")), "-lm",
                ],
                check=True,
            )  # fmt: skip
            self.libraries[text, mode] = ctypes.CDLL(str(stem.with_suffix(".so")))
        return self.libraries[text, mode]


def _scalar(value: Any) -> Any:
    kinds = {np.int32: ctypes.c_int, np.int64: ctypes.c_longlong, np.uint64: ctypes.c_void_p}
    return kinds[type(value)](int(value))


BOILER = """model Boiler
  parameter Real T_D = 285; parameter Real T_R = 19; parameter Real A4 = 0.26;
  parameter Real w_E = 10; parameter Real w_P = -10;
  parameter Real x10 = 148; parameter Real x20 = 28;
  input Real uc; input Real fc; output Real E; output Real P;
  Real x1(start = x10, fixed = true); Real x2(start = x20, fixed = true);
protected
  Real steam = 3.3 * uc * x1;
equation
  der(x1) = 0.3 / T_D * (14 * fc - steam);
  der(x2) = 0.064 / T_R * (steam - 15 * x2);
  E = 0.32 * (A4 * steam + (1 - A4) * 15 * x2) + w_E;
  P = x1 + w_P;
end Boiler;"""
CHASE = """model Chase "x follows an oscillation, ever closer with k"
  parameter Real k = 1; parameter Real a = 0.5; input Real u; output Real y = x * x;
  Real x(start = a, fixed = true);
equation
  der(x) = -k * (x - cos(time) - u);
end Chase;"""
ROBERTSON = """model Robertson
  parameter Real k1 = 0.04; parameter Real k2 = 3e7; parameter Real k3 = 1e4;
  output Real A(start = 1, fixed = true); output Real B(start = 0, fixed = true);
  output Real C(start = 0, fixed = true);
equation
  der(A) = -k1 * A + k3 * B * C;
  der(B) = k1 * A - k2 * B ^ 2 - k3 * B * C;
  der(C) = k2 * B ^ 2;
end Robertson;"""
FRAGILE = """model Fragile
  parameter Real a = 1; parameter Real b = 1;
  output Real y = x / (b - time); Real x(start = 1, fixed = true);
equation
  assert(x < 10, "x is too large");
  der(x) = a * x;
end Fragile;"""
FOUR = """model Four
  parameter Real a1 = 1; parameter Real a2 = 3; parameter Real b1 = 0.5; parameter Real b2 = 0.9;
  parameter Real c1 = 0.8; parameter Real c2 = 1; parameter Real d1 = 0.7; parameter Real d2 = 0.3;
  parameter Real x10 = 1; parameter Real x20 = 1; parameter Real x30 = 1; parameter Real x40 = 1;
  input Real u1; input Real u2;
  Real x1(start = x10, fixed = true); Real x2(start = x20, fixed = true);
  Real x3(start = x30, fixed = true); Real x4(start = x40, fixed = true);
  output Real y = x3 * x4;
equation
  der(x1) = -a1 * x1 * x3 + a2 * x2 + x3;
  der(x2) = -b1 * x1 - b2 * x2 + x4;
  der(x3) = -c1 * x3 + c2 * x4 + u1;
  der(x4) = -d1 * x3 - d2 * x3 * x4 + u2;
end Four;"""
TUNERS = ("T_D", "T_R", "A4", "w_E", "w_P", "x10", "x20")


def boiler(**options: Any) -> Any:
    rng = np.random.default_rng(0)
    grid = 2.0 * np.arange(61)
    held = {
        "uc": np.repeat(rng.uniform(0.5, 0.9, 6), 10),
        "fc": np.repeat(rng.uniform(15, 35, 6), 10),
    }
    inputs = {n: (grid[:-1], v) for n, v in held.items()}
    return es.load_model(BOILER).response(
        grid, inputs, outputs=("E", "P"), wrt=TUNERS, begin=0.0, options=es.Options(**options)
    )


def chase(**options: Any) -> Any:
    inputs = {"u": Signal(np.array([0.0, 3.0, 6.0]), np.array([0.0, 1.0, 0.5]), Hold.LINEAR)}
    return es.load_model(CHASE).response(
        np.linspace(0, 6, 25), inputs, outputs=("y",), wrt=("k", "a"), begin=0.0,
        options=es.Options(**options),
    )  # fmt: skip


def four_states(**options: Any) -> Any:
    """Two groups of sensitivities and more, and more sums than a thread keeps."""
    model = es.load_model(FOUR)
    wrt = ("a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2", "x10", "x20", "x30", "x40")
    inputs = {"u1": ([0.0, 2.0], [0.0, 1.0]), "u2": ([0.0], [1.0])}
    return model.response(
        np.linspace(0, 4, 21), inputs, outputs=("x1", "x2", "y"), wrt=wrt, begin=0.0,
        options=es.Options(**options),
    )  # fmt: skip


def near(response: Any, many: int = 4, spread: float = 0.1) -> Any:
    rng = np.random.default_rng(1)
    theta = response.tuners
    return theta * (1 + spread * rng.uniform(-1, 1, (many, len(theta))))


def assert_same(response: Any, thetas: Any, folder: Path, tolerance: float) -> None:
    got, expected = (
        CudaEnsemble(response, HostLauncher(folder)).at(thetas),
        Ensemble(response, "scalar").at(thetas),
    )
    assert np.array_equal(got.status, expected.status)
    for a, b in ((got.Y, expected.Y), (got.YS, expected.YS)):
        scale = np.abs(b).max(axis=(0, 1))
        assert np.all(np.abs(a - b) <= tolerance * np.where(scale > 0, scale, 1.0))


@needs_compiler
def test_explicit_members_take_the_steps_of_the_engine(tmp_path: Path) -> None:
    response = boiler()
    assert_same(response, near(response), tmp_path, 1e-9)


@needs_compiler
def test_groups_of_sensitivities_take_the_same_steps(tmp_path: Path) -> None:
    response = four_states()
    program = program_of(response)
    assert isinstance(program, Program)
    assert program.explicit.count("MODEL void slope_of_group") > 2
    assert_same(response, near(response), tmp_path, 1e-9)


@needs_compiler
def test_many_sensitivities_stay_in_memory(tmp_path: Path) -> None:
    n, m = 10, 8
    tuners = " ".join(f"parameter Real k{j} = {1 + 0.1 * j};" for j in range(m))
    fed = ["sin(time)", *(f"k{(i - 1) % m} * tanh(x[{i}])" for i in range(1, n))]
    laws = " ".join(
        f"der(x[{i + 1}]) = {a} - k{i % m} * x[{i + 1}] ^ 2;" for i, a in enumerate(fed)
    )
    text = f"model M {tuners} Real x[{n}](each start = 0.5, each fixed = true); output Real y = x[{n}]; equation {laws} end M;"
    response = es.load_model(text).response(
        np.linspace(0, 5, 11), {}, outputs=("y",), wrt=[f"k{j}" for j in range(m)], begin=0.0
    )
    program = program_of(response)
    assert isinstance(program, Program)
    assert "slope_of_group" not in program.explicit
    assert "unroll 1" in program.explicit
    assert_same(response, near(response, 2), tmp_path, 1e-9)


@needs_compiler
def test_inputs_with_slopes_are_followed(tmp_path: Path) -> None:
    assert_same(chase(), near(chase()), tmp_path, 1e-8)
    assert_same(chase(method="implicit"), near(chase()), tmp_path, 1e-7)


@needs_compiler
def test_stiff_members_take_the_steps_of_the_engine(tmp_path: Path) -> None:
    times = np.concatenate([[0.0], np.logspace(-5, 5, 20)])
    for method, tolerance in (("implicit", 1e-9), ("auto", 1e-5)):
        response = es.load_model(ROBERTSON).response(
            times, {}, outputs=("A", "B", "C"), wrt=("k1", "k2", "k3"), begin=0.0,
            options=es.Options(atol=1e-10, method=method),
        )  # fmt: skip
        program = program_of(response)
        assert isinstance(program, Program)
        assert not program.explicit  # the engine changes the method early
        assert_same(response, near(response), tmp_path, tolerance)


@needs_compiler
def test_a_member_that_turns_out_to_be_stiff_is_run_again(tmp_path: Path) -> None:
    response, launcher = chase(), HostLauncher(tmp_path)
    thetas = np.array([[1.0, 0.5], [1e6, 0.5], [2.0, 0.7]])
    got, expected = (
        CudaEnsemble(response, launcher).at(thetas),
        Ensemble(response, "scalar").at(thetas),
    )
    assert launcher.launches == [3, 1]
    assert not got.status.any()
    assert np.allclose(got.Y, expected.Y, rtol=1e-5, atol=1e-6)
    # a sensitivity of 1e-12 is measured in the tuner's own size, here far off its nominal one
    assert np.allclose(got.YS, expected.YS, rtol=1e-4, atol=1e-6)


@needs_compiler
@pytest.mark.parametrize("weighed", ["alike", "each"])
@pytest.mark.parametrize(("make", "own"), [(boiler, False), (boiler, True), (four_states, True)])
def test_normal_equations_are_those_of_the_outputs(
    tmp_path: Path, make: Any, own: bool, weighed: str
) -> None:
    response = make()
    assert program_of(response).rows == (make is four_states)
    thetas = near(response, 5)
    run = Ensemble(response, "scalar").at(thetas)
    rng = np.random.default_rng(2)
    value = (run.Y if own else run.Y[:1]) + rng.normal(size=run.Y[0].shape)
    weight = rng.uniform(0.5, 2, run.Y[0].shape)
    weight[3, 0] = 0.0
    value[:, 3, 0] = np.nan
    if weighed == "each":
        weight = np.where(rng.uniform(size=run.Y.shape) < 0.7, weight, 0.0)
    measured = Measured(value, weight)
    room = 23000 if make is four_states else 4500 if own else 2500  # two members a chunk
    room += 2 * 8 * run.Y[0].size * (weighed == "each")
    launcher = HostLauncher(tmp_path, room)
    got = CudaEnsemble(response, launcher).normal(thetas, measured)
    expected = Ensemble(response, "scalar").normal(thetas, measured)
    assert len(launcher.launches) == 3
    for a, b in (
        (got.square, expected.square), (got.gradient, expected.gradient),
        (got.information, expected.information),
    ):  # fmt: skip
        assert np.allclose(a, b, rtol=1e-8, atol=1e-8 * np.abs(b).max())


@needs_compiler
def test_members_may_pick_the_data_that_are_theirs(tmp_path: Path) -> None:
    response = boiler()
    program, thetas = program_of(response), near(response, 3)
    rng = np.random.default_rng(4)
    value, some = rng.normal(size=(5, 61, 2)), rng.integers(0, 2, (5, 61, 2)).astype(float)
    which = np.array([4, 0, 2])
    launcher = HostLauncher(tmp_path)
    for weight in (np.ones((61, 2)), some):
        picked = run_normal(program, thetas, value, weight, launcher, which=which)
        own_weight = weight if weight.ndim == 2 else weight[which]
        own = run_normal(program, thetas, value[which], own_weight, launcher)
        assert np.array_equal(picked.gradient, own.gradient)
    picked = run_normal(program, thetas, value[:1], some, launcher, which=which)
    own = run_normal(program, thetas, value[:1], some[which], launcher)
    assert np.array_equal(picked.gradient, own.gradient)


@needs_compiler
def test_failures_have_the_status_of_the_engine(tmp_path: Path) -> None:
    model = es.load_model(FRAGILE)
    response = model.response(np.linspace(0, 2, 5), {}, outputs=("y",), wrt=("a", "b"), begin=0.0)
    thetas = np.array([[0.1, 7.0], [3.0, 7.0], [0.1, 1.0], [np.nan, 7.0]])
    got = CudaEnsemble(response, HostLauncher(tmp_path)).at(thetas)
    assert got.status.tolist() == [
        status.DONE, status.CHECK_VIOLATED, status.NOT_FINITE_OUTPUT, status.NOT_FINITE_START,
    ]  # fmt: skip
    assert np.array_equal(got.status[:3], Ensemble(response, "scalar").at(thetas[:3]).status)
    assert list(got.failures) == [1, 2, 3]
    assert got.failures[1].startswith("an assertion failed at time")
    assert "x is too large" in got.failures[1]
    assert np.isfinite(got.Y[2, :2]).all() and np.isnan(got.Y[2, 3:]).all()  # noqa: PT018
    sums = CudaEnsemble(response, HostLauncher(tmp_path)).normal(
        thetas, Measured(np.zeros((1, 5, 1)), np.ones((5, 1)))
    )
    assert np.isfinite(sums.square[0]).all()
    assert np.isnan(sums.information[1:]).all()


@needs_compiler
def test_outputs_alone_need_no_tuners(tmp_path: Path) -> None:
    response = es.load_model(ROBERTSON).response(
        np.array([0.0, 1.0]), {}, outputs=("A",), begin=0.0
    )
    got = run_samples(program_of(response), np.zeros((3, 0)), HostLauncher(tmp_path))
    assert got.YS.shape == (3, 2, 1, 0)
    assert np.allclose(got.Y, response.at().Y, rtol=1e-5)


def test_a_program_goes_to_a_file_and_back(tmp_path: Path) -> None:
    program = program_of(boiler())
    assert isinstance(program, Program)
    program.save(tmp_path / "boiler.npz")
    again = Program.load(tmp_path / "boiler.npz")
    assert (again.explicit, again.stiff, again.m) == (program.explicit, program.stiff, program.m)
    assert np.array_equal(again.values, program.values)


def test_a_program_is_run_by_numpy_alone() -> None:
    script = (
        "import sys, estimica.simulate.ensemble.cuda.runner as r;"
        "print(sorted({'casadi', 'numba', 'pandas', 'scipy', 'llvmlite'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "Real z; equation der(x) = -z; z ^ 3 + z = x;",
            "the model has algebraic unknowns (1)",
        ),
        ("equation der(x) = if x > 0.5 then -1 else -2;", "the model has events"),
        ("equation der(x) = -delay(x, 0.1);", "the model has delays"),
    ],
)
def test_what_a_thread_does_not_follow_is_said(body: str, reason: str) -> None:
    text = f"model M output Real x(start = 1, fixed = true); parameter Real a = 1; {body} end M;"
    response = es.load_model(text).response(np.array([0.0, 1.0]), {}, outputs=("x",), begin=0.0)
    assert refusal(response) == reason
    assert program_of(response) == reason


def test_an_ensemble_says_why_it_is_not_on_a_gpu() -> None:
    response = es.load_model(FRAGILE).response(
        np.linspace(0, 1, 3), {}, outputs=("y",), wrt=("a", "b"), begin=0.0
    )
    ensemble = Ensemble(response, "cuda")
    if ensemble.backend == "cuda":
        pytest.skip("there is a GPU here")
    assert "CuPy is not installed" in ensemble.reason or "CUDA finds no device" in ensemble.reason
    swinging = es.load_model(
        "model M output Real x(start = 1, fixed = true); equation der(x) = if x > 0.5 then -1 else -2; end M;"
    ).response(np.array([0.0, 1.0]), {}, outputs=("x",), begin=0.0)
    assert Ensemble(swinging, "cuda").reason.startswith("the model has events")


def test_numbers_agree_on_a_gpu() -> None:
    """The whole way through CuPy, where there is a device."""
    reason = available()
    if reason:
        pytest.skip(reason)
    for response in (boiler(), chase(), four_states(), chase(method="implicit")):
        thetas = near(response)
        expected = Ensemble(response, "scalar").at(thetas)
        got = CudaEnsemble(response).at(thetas)
        assert np.array_equal(got.status, expected.status)
        assert np.allclose(got.Y, expected.Y, rtol=1e-6, atol=1e-7)
        scale = np.abs(expected.YS).max(axis=(0, 1))
        assert np.all(np.abs(got.YS - expected.YS) <= 1e-6 * np.where(scale > 0, scale, 1.0))
