"""Twins of the table functions: as expressions, against interpolation by others and by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import Akima1DInterpolator, RectBivariateSpline
from scipy.io import savemat
from tests.source.external_host import FakeHost, plain

from estimica.base.errors import UnsupportedError
from estimica.flat import expression as ex
from estimica.source.evaluate.values import ValueMismatch

X = np.array([0.0, 1.0, 2.5, 3.0, 5.0])
Y = np.array([1.0, 3.0, 2.0, 2.5, -1.0])
INSIDE = np.linspace(0.0, 5.0, 41)
LINEAR, AKIMA, CONSTANT, FRITSCH_BUTLAND, STEFFEN, MODIFIED_AKIMA = 1, 2, 3, 4, 5, 6
HOLD, LAST_TWO_POINTS, PERIODIC, NONE = 1, 2, 3, 4
LIBRARY = "ModelicaStandardTables_"
U, U1, U2, T = ex.name("u"), ex.name("u1"), ex.name("u2"), ex.name("t")


class Curve:
    """A table of one variable in u."""

    def __init__(self, x, y, smoothness=LINEAR, extrapolation=LAST_TWO_POINTS) -> None:
        self.host = FakeHost()
        matrix = np.c_[x, y]
        self.table = self.host.call(
            f"{LIBRARY}CombiTable1D_init3", "NoName", "NoName", matrix, *matrix.shape, [2], 1,
            smoothness, extrapolation, False, ",", 0,
        )  # fmt: skip
        self.value = self.asked("getValue", 1, U)

    def asked(self, what: str, *arguments: Any) -> Any:
        return self.host.call(f"{LIBRARY}CombiTable1D_{what}", self.table, *arguments)

    def __call__(self, u: float) -> float:
        return self.host.at(self.value, u=u)


class TimeTable:
    """A table over time, driven as the library's block does it: one event after the other."""

    def __init__(
        self, matrix, smoothness=LINEAR, extrapolation=LAST_TWO_POINTS, start=0.0, shift=0.0,
        events=1,
    ) -> None:  # fmt: skip
        self.host = FakeHost(clocks={"t": ex.TIME})
        matrix = np.array(matrix, dtype=float)
        self.table = self.host.call(
            f"{LIBRARY}CombiTimeTable_init3", "NoName", "NoName", matrix, *matrix.shape, start,
            [2], 1, smoothness, extrapolation, shift, events, False, ",", 0,
        )  # fmt: skip
        self.following = self.asked("nextTimeEvent", T)
        self.value = self.asked("getValue", 1, T, ex.name("next"), ex.name("before"))

    def asked(self, what: str, *arguments: Any) -> Any:
        return self.host.call(f"{LIBRARY}CombiTimeTable_{what}", self.table, *arguments)

    def next_after(self, time: float) -> float:
        return self.host.at(self.following, time=time)

    def __call__(self, time: float) -> float:
        return self.host.at(self.value, time=time, next=self.next_after(time), before=0.0)


class Surface:
    """A table of two variables in u1 and u2."""

    def __init__(self, x, y, z, smoothness=LINEAR, extrapolation=LAST_TWO_POINTS) -> None:
        self.host = FakeHost()
        matrix = np.block([[np.zeros((1, 1)), np.array([y])], [np.array([x]).T, np.array(z)]])
        self.table = self.host.call(
            f"{LIBRARY}CombiTable2D_init3", "NoName", "NoName", matrix, *matrix.shape,
            smoothness, extrapolation, False, ",", 0,
        )  # fmt: skip
        self.value = self.asked("getValue", U1, U2)

    def asked(self, what: str, *arguments: Any) -> Any:
        return self.host.call(f"{LIBRARY}CombiTable2D_{what}", self.table, *arguments)

    def __call__(self, u1: float, u2: float) -> float:
        return self.host.at(self.value, u1=u1, u2=u2)


# --- one variable ---


def test_linear_segments() -> None:
    table = Curve(X, Y)
    for u in INSIDE:
        assert table(u) == pytest.approx(np.interp(u, X, Y))
    assert table(-1.0) == pytest.approx(-1.0)
    assert table(6.0) == pytest.approx(-2.75)


LONG_X = np.cumsum(np.r_[0.0, np.random.default_rng(1).uniform(0.2, 1.0, 99)])
LONG_Y = np.random.default_rng(2).uniform(-1.0, 1.0, 100)
EVERY_RULE = [LINEAR, AKIMA, CONSTANT, FRITSCH_BUTLAND, STEFFEN, MODIFIED_AKIMA]


@pytest.mark.parametrize("extrapolation", [HOLD, LAST_TWO_POINTS, PERIODIC])
@pytest.mark.parametrize("smoothness", EVERY_RULE)
def test_many_numbers_are_a_search_and_few_a_choice(smoothness, extrapolation, monkeypatch) -> None:
    searched = Curve(LONG_X, LONG_Y, smoothness, extrapolation)
    slope = searched.asked("getDerValue", 1, U, ex.ONE)
    monkeypatch.setattr("estimica.source.external.tables.curve.MAX_LINES", 1000)
    chosen = Curve(LONG_X, LONG_Y, smoothness, extrapolation)
    chosen_slope = chosen.asked("getDerValue", 1, U, ex.ONE)
    assert any(e.op == "call" for e in ex.walk(searched.value))
    assert not any(e.op == "call" for e in ex.walk(chosen.value))
    last = LONG_X[-1]
    places = [-0.7, 0.0, 1e-9, LONG_X[1], LONG_X[50], last - 1e-9, last + 0.4]
    for u in [*places, *np.linspace(0.0, last, 23)]:
        assert searched(u) == pytest.approx(chosen(u), abs=1e-12)
        ours = searched.host.at(slope, u=u)
        assert ours == pytest.approx(chosen.host.at(chosen_slope, u=u), abs=1e-9)


@pytest.mark.parametrize("extrapolation", [HOLD, LAST_TWO_POINTS, PERIODIC])
@pytest.mark.parametrize("smoothness", [LINEAR, CONSTANT])
def test_a_long_table_over_time_knows_its_events(smoothness, extrapolation, monkeypatch) -> None:
    matrix = np.c_[LONG_X, LONG_Y]
    matrix[40, 0] = matrix[39, 0]  # a jump
    searched = TimeTable(matrix, smoothness, extrapolation, shift=0.3)
    monkeypatch.setattr("estimica.source.external.tables.time_curve.long_curve", lambda c: None)
    monkeypatch.setattr("estimica.source.external.tables.time_curve.long_steps", lambda v, c: None)
    chosen = TimeTable(matrix, smoothness, extrapolation, shift=0.3)
    for time in [*np.linspace(0.0, 80.0, 41), LONG_X[39] + 0.3, LONG_X[7] + 0.3]:
        assert searched.next_after(time) == pytest.approx(chosen.next_after(time), abs=1e-12)
        assert searched(time) == pytest.approx(chosen(time), abs=1e-12)


def test_constant_segments_hold_from_each_point_on() -> None:
    table = Curve(X, Y, CONSTANT, HOLD)
    assert [table(u) for u in (-1.0, 0.0, 0.99, 1.0, 2.7, 5.0, 9.0)] == [1, 1, 1, 3, 2, -1, -1]


@pytest.mark.parametrize(("smoothness", "method"), [(AKIMA, "akima"), (MODIFIED_AKIMA, "makima")])
def test_akima_splines(smoothness: int, method: str) -> None:
    table, reference = Curve(X, Y, smoothness), Akima1DInterpolator(X, Y, method=method)
    for u in INSIDE:
        assert table(u) == pytest.approx(float(reference(u)), abs=1e-12)


@pytest.mark.parametrize("smoothness", [FRITSCH_BUTLAND, STEFFEN])
def test_monotone_splines_pass_the_points_and_never_overshoot(smoothness: int) -> None:
    table = Curve(X, Y, smoothness)
    for x, y in zip(X, Y, strict=True):
        assert table(x) == pytest.approx(y)
    for x0, x1, y0, y1 in zip(X, X[1:], Y, Y[1:], strict=False):
        values = [table(u) for u in np.linspace(x0, x1, 30)]
        assert min(values) >= min(y0, y1) - 1e-12
        assert max(values) <= max(y0, y1) + 1e-12


@pytest.mark.parametrize("smoothness", [AKIMA, STEFFEN])
def test_splines_go_straight_on_beyond_their_ends(smoothness: int) -> None:
    table = Curve(X, Y, smoothness)
    slope = (table(5.0) - table(5.0 - 1e-6)) / 1e-6
    assert table(7.0) == pytest.approx(table(5.0) + 2.0 * slope, abs=1e-4)


def test_periodic_extrapolation() -> None:
    table = Curve(X, Y, LINEAR, PERIODIC)
    assert table(6.0) == pytest.approx(table(1.0))
    assert table(-3.0) == pytest.approx(table(2.0))


def test_no_extrapolation_is_asserted_once() -> None:
    table = Curve(X, Y, LINEAR, NONE)
    table.asked("getDerValue", 1, U, 1.0)
    ((condition, message),) = table.host.checks
    assert "outside" in message
    assert table.host.at(condition, u=4.0) == 1.0
    assert table.host.at(condition, u=5.5) == 0.0


def test_derivatives_of_a_curve() -> None:
    table = Curve(X, Y, AKIMA)
    reference = Akima1DInterpolator(X, Y)
    first = table.asked("getDerValue", 1, U, ex.name("v"))
    second = table.asked("getDer2Value", 1, U, ex.name("v"), ex.name("w"))
    for u in (0.3, 1.7, 4.0):
        slope, bend = float(reference(u, 1)), float(reference(u, 2))
        assert table.host.at(first, u=u, v=2.0) == pytest.approx(2.0 * slope)
        wanted = 4.0 * bend + 3.0 * slope
        assert table.host.at(second, u=u, v=2.0, w=3.0) == pytest.approx(wanted)


def test_the_second_derivative_at_the_last_point_is_that_inside() -> None:
    table = Curve(X, Y, AKIMA)
    second = table.asked("getDer2Value", 1, U, 1.0, 0.0)
    bend = float(Akima1DInterpolator(X, Y)(5.0, 2))
    assert table.host.at(second, u=5.0) == pytest.approx(bend)
    assert table.host.at(second, u=5.0 + 1e-9) == 0.0


def test_ends_and_one_row() -> None:
    table = Curve(X, Y)
    assert plain(table.asked("minimumAbscissa")) == 0.0
    assert plain(table.asked("maximumAbscissa")) == 5.0
    assert Curve([3.0], [7.0], AKIMA)(100.0) == 7.0


def test_values_stay_parameters_and_slopes_are_helpers() -> None:
    host = FakeHost(values={f"y{i}": y for i, y in enumerate(Y)})
    matrix = np.empty((5, 2), dtype=object)
    for i in range(5):
        matrix[i] = ex.const(X[i]), ex.name(f"y{i}")
    init = f"{LIBRARY}CombiTable1D_init2"
    table = host.call(init, "NoName", "NoName", matrix, 5, 2, [2], 1, AKIMA, LAST_TWO_POINTS, False)
    value = host.call(f"{LIBRARY}CombiTable1D_getValue", table, 1, U)
    assert host.helpers
    assert host.at(value, u=1.7) == pytest.approx(float(Akima1DInterpolator(X, Y)(1.7)))


def test_many_points_are_one_node_without_events() -> None:
    x = np.linspace(0.0, 10.0, 5000)
    for extrapolation, left in ((HOLD, 0.0), (LAST_TWO_POINTS, -1.0)):
        table = Curve(x, x**2 + x, LINEAR, extrapolation)
        assert sum(1 for e in ex.walk(table.value) if e.op not in ("const",)) < 10
        assert table(3.3333) == pytest.approx(3.3333**2 + 3.3333, rel=1e-5)
        assert table(-1.0) == pytest.approx(left, abs=0.01)
        slope = table.asked("getDerValue", 1, U, 1.0)
        assert table.host.at(slope, u=4.0001) == pytest.approx(9.0, rel=1e-3)


def test_abscissae_must_rise() -> None:
    with pytest.raises(ValueMismatch, match=r"2\.5 is followed by 1 \(places 2 and 3\)"):
        Curve([0.0, 2.5, 1.0], [1.0, 2.0, 3.0])


def test_a_column_that_is_not_there() -> None:
    host = FakeHost()
    with pytest.raises(ValueMismatch, match="has no column 4"):
        host.call(
            f"{LIBRARY}CombiTable1D_init3", "NoName", "NoName", np.c_[X, Y], 5, 2, [4], 1,
            LINEAR, HOLD, False, ",", 0,
        )  # fmt: skip


# --- time ---

JUMPY = [[0.0, 0.0], [1.0, 1.0], [1.0, 5.0], [2.0, 5.0]]


def test_a_jump_takes_the_later_value_from_the_point_on() -> None:
    table = TimeTable(JUMPY)
    assert [table(t) for t in (0.5, 1.0, 1.5, 2.0, 3.0)] == [0.5, 5.0, 5.0, 5.0, 5.0]
    assert table.next_after(0.0) > 1e50  # a short table makes its own events


def test_zero_before_the_start_and_shifted() -> None:
    table = TimeTable(JUMPY, start=1.0, shift=0.5)
    assert [table(t) for t in (0.9, 1.0, 1.6)] == [0.0, 0.5, 5.0]


def test_events_of_a_time_table_are_due_where_it_says() -> None:
    def relations_with_events(events: int) -> int:
        value = TimeTable(JUMPY, events=events).value
        silent = {a for e in ex.walk(value) if e.op in ("noEvent", "smooth") for a in ex.walk(e)}
        return sum(1 for e in ex.walk(value) if e.op in ex.RELATIONS and e not in silent)

    assert relations_with_events(1) == 1  # 0 | 1: the only place between two pieces
    assert relations_with_events(2) == 1
    assert relations_with_events(3) == 0


@pytest.mark.parametrize("extrapolation", [HOLD, LAST_TWO_POINTS, PERIODIC])
@pytest.mark.parametrize("smoothness", [LINEAR, CONSTANT])
def test_a_long_time_table_is_held_by_its_next_event(smoothness: int, extrapolation: int) -> None:
    rng = np.random.default_rng(7)
    times = np.cumsum(rng.uniform(0.1, 0.5, 100))
    values = rng.normal(size=100)
    shift = 0.37
    table = TimeTable(np.c_[times, values], smoothness, extrapolation, shift=shift)
    relations = {e for e in ex.walk(table.value) if e.op in ex.RELATIONS}
    silent = {a for e in ex.walk(table.value) if e.op == "noEvent" for a in ex.walk(e)}
    assert relations <= silent
    first, span = times[0], times[-1] - times[0]
    for t in rng.uniform(0.0, 60.0, 60):
        s = t - shift
        if extrapolation == PERIODIC:
            s = first + (s - first) % span
        k = int(np.searchsorted(times, s, side="right")) - 1
        if 0 <= k < 99:
            line = values[k] + (values[k + 1] - values[k]) / (times[k + 1] - times[k]) * (
                s - times[k]
            )
            assert table(t) == pytest.approx(values[k] if smoothness == CONSTANT else line)
            base = t - shift - s
            assert table.next_after(t) == pytest.approx(times[k + 1] + base + shift)
        elif extrapolation == HOLD:
            assert table(t) == pytest.approx(values[0] if k < 0 else values[-1])


def test_the_value_of_a_long_table_changes_with_the_event_only() -> None:
    """At the instant of a jump, before the event, the solver must see the old piece."""
    steps = np.c_[np.arange(100.0), np.arange(100.0) % 7]
    table = TimeTable(steps, CONSTANT, HOLD)
    before = table.host.at(table.value, time=5.0, next=5.0, before=4.0)
    after = table.host.at(table.value, time=5.0, next=table.next_after(5.0), before=5.0)
    assert (before, after) == (4.0, 5.0)


def test_events_of_a_periodic_table_never_stand_still() -> None:
    steps = np.c_[np.arange(101.0) / 10.0, np.arange(101.0) % 7]
    table = TimeTable(steps, CONSTANT, PERIODIC, shift=0.1)
    time, seen = 0.0, []
    for _ in range(220):
        following = table.next_after(time)
        assert following > time
        seen.append(following)
        time = following
    assert np.diff(seen) == pytest.approx(0.1)


# --- two variables ---

GRID_X, GRID_Y = [0.0, 1.0, 2.0, 3.5], [0.0, 1.0, 2.5]
HEIGHTS = [[1.0, 2.0, 4.0], [0.0, 3.0, 3.0], [2.0, 2.0, 5.0], [1.0, 4.0, 1.0]]


def test_bilinear_surface() -> None:
    table = Surface(GRID_X, GRID_Y, HEIGHTS)
    reference = RectBivariateSpline(GRID_X, GRID_Y, HEIGHTS, kx=1, ky=1)
    rng = np.random.default_rng(3)
    for u1, u2 in rng.uniform((0.0, 0.0), (3.5, 2.5), (50, 2)):
        assert table(u1, u2) == pytest.approx(float(reference(u1, u2)[0, 0]))
    # the plane through the last four points goes on: 5 + (1-5)/1.5·2 in x, then along y
    assert table(5.0, 2.5) == pytest.approx(1.0 - 4.0 / 1.5 * 1.5)


def test_constant_surface() -> None:
    table = Surface(GRID_X, GRID_Y, HEIGHTS, CONSTANT, HOLD)
    assert table(0.5, 1.2) == 2.0
    assert table(1.0, 2.5) == 3.0
    assert table(9.0, 9.0) == 1.0
    beyond = Surface(GRID_X, GRID_Y, HEIGHTS, CONSTANT, LAST_TWO_POINTS)
    assert beyond(0.5, 1.2) == 2.0
    assert beyond(0.5, 4.0) == pytest.approx(Surface(GRID_X, GRID_Y, HEIGHTS)(0.5, 4.0))


#: computed with the C functions of the Modelica Standard Library 4.1.0
AKIMA_SURFACE = [
    (0.5, 0.5, 1.7287660256410255),
    (1.3, 1.9, 3.545614033444816),
    (3.0, 2.2, 3.231843428712994),
    (-1.0, 0.5, 0.7708333333333333),
    (2.0, 4.0, 9.5),
    (5.0, -1.0, -21.37499999999999),
]


@pytest.mark.parametrize(("u1", "u2", "wanted"), AKIMA_SURFACE)
def test_akima_surface_as_the_library_computes_it(u1: float, u2: float, wanted: float) -> None:
    assert Surface(GRID_X, GRID_Y, HEIGHTS, AKIMA)(u1, u2) == pytest.approx(wanted, rel=1e-12)


def test_akima_surface_of_a_plane_is_the_plane() -> None:
    x, y = np.array([0.0, 0.7, 2.0, 3.1]), np.array([-1.0, 0.0, 2.0, 2.2, 4.0])
    table = Surface(x, y, 2.0 * x[:, None] - 3.0 * y[None, :] + 1.0, AKIMA)
    for u1, u2 in ((0.3, 1.1), (-1.0, 5.0), (4.0, -2.0)):
        assert table(u1, u2) == pytest.approx(2.0 * u1 - 3.0 * u2 + 1.0)


@pytest.mark.parametrize(("u1", "u2"), [(0.4, 0.3), (2.2, 2.0), (0.5, 3.0), (-0.5, -0.5)])
def test_derivatives_of_a_surface(u1: float, u2: float) -> None:
    """Along the path u1 + 2s + 0.5s², u2 - s + 0.25s²."""
    table = Surface(GRID_X, GRID_Y, HEIGHTS, AKIMA)
    first = table.asked("getDerValue", U1, U2, 2.0, -1.0)
    second = table.asked("getDer2Value", U1, U2, 2.0, -1.0, 1.0, 0.5)

    def along(s: float) -> float:
        return table(u1 + 2.0 * s + 0.5 * s**2, u2 - s + 0.25 * s**2)

    h = 1e-3
    slope = (along(-2 * h) - 8 * along(-h) + 8 * along(h) - along(2 * h)) / (12 * h)
    bend = (along(h) - 2.0 * along(0.0) + along(-h)) / h**2
    assert table.host.at(first, u1=u1, u2=u2) == pytest.approx(slope, rel=1e-6)
    assert table.host.at(second, u1=u1, u2=u2) == pytest.approx(bend, rel=1e-3)


def test_ends_of_a_surface_and_single_lines() -> None:
    table = Surface(GRID_X, GRID_Y, HEIGHTS)
    assert list(plain(table.asked("minimumAbscissa", [0.0, 0.0]).arguments[1])) == [0.0, 0.0]
    assert list(plain(table.asked("maximumAbscissa", [0.0, 0.0]).arguments[1])) == [3.5, 2.5]
    assert Surface([1.0], X, [Y])(99.0, 0.5) == pytest.approx(2.0)
    assert Surface(X, [1.0], [[y] for y in Y], AKIMA)(1.7, 99.0) == pytest.approx(
        float(Akima1DInterpolator(X, Y)(1.7))
    )


def test_surfaces_that_the_library_has_not_either() -> None:
    with pytest.raises(UnsupportedError, match="STEFFEN"):
        Surface(GRID_X, GRID_Y, HEIGHTS, STEFFEN)


# --- on file ---

TEXT = """#1
# a comment
double other(1,2)
7 7
double values(3, 2)  # the one
  0  0   1 1 # two rows in a line
  # a comment
  2
      4

float last(1,1)
3
"""


def on_file(path: Path, name: str, delimiter: str = ",", header: int = 0) -> Any:
    host = FakeHost()
    table = host.call(
        f"{LIBRARY}CombiTable1D_init3", str(path), name, [[0.0, 0.0]], 1, 2, [2], 1,
        LINEAR, LAST_TWO_POINTS, False, delimiter, header,
    )  # fmt: skip
    value = host.call(f"{LIBRARY}CombiTable1D_getValue", table, 1, U)
    return lambda u: host.at(value, u=u)


def test_text_files(tmp_path: Path) -> None:
    path = tmp_path / "tables.txt"
    path.write_text(TEXT, encoding="utf-8")
    assert on_file(path, "values")(1.5) == 2.5
    with pytest.raises(ValueMismatch, match=r"no matrix 'none'; it has 'other', 'values', 'last'"):
        on_file(path, "none")
    path.write_text(TEXT.replace("  2\n", "  2x\n"), encoding="utf-8")
    with pytest.raises(ValueMismatch, match=r"tables\.txt:8: '2x' is not a number"):
        on_file(path, "values")
    path.write_text(TEXT.replace("      4\n", "").replace("float last(1,1)\n3\n", ""), "utf-8")
    with pytest.raises(ValueMismatch, match=r"should have 3×2 numbers and has 5"):
        on_file(path, "values")
    path.write_text("double a(1,1)\n1\n", encoding="utf-8")
    with pytest.raises(ValueMismatch, match="#1"):
        on_file(path, "a")


def test_csv_files(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("time; value\n0; 0\t\n1;1\n2 ;4\n", encoding="utf-8")
    assert on_file(path, "Values", ";", 1)(1.5) == 2.5
    with pytest.raises(ValueMismatch, match=r"table\.csv:1: 'time' is not a number"):
        on_file(path, "Values", ";")


@pytest.mark.parametrize("version", ["4", "5"])
def test_matlab_files(tmp_path: Path, version: str) -> None:
    path = tmp_path / "table.mat"
    savemat(path, {"values": np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 4.0]])}, format=version)
    assert on_file(path, "values")(1.5) == 2.5
    with pytest.raises(ValueMismatch, match="no matrix 'v'; it has 'values'"):
        on_file(path, "v")


def test_matlab_structures(tmp_path: Path) -> None:
    path = tmp_path / "table.mat"
    savemat(path, {"s": {"inner": {"m": np.array([[0.0, 0.0], [2.0, 4.0]])}}})
    assert on_file(path, "s.inner.m")(1.0) == 2.0


def test_matlab_files_of_version_7_3(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "table.mat"
    with h5py.File(path, "w") as file:
        file["values"] = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 4.0]]).T
    assert on_file(path, "values")(1.5) == 2.5


def test_a_file_that_is_not_there_and_a_broken_one(tmp_path: Path) -> None:
    with pytest.raises(ValueMismatch, match="there is no file"):
        on_file(tmp_path / "none.txt", "a")
    path = tmp_path / "broken.mat"
    path.write_bytes(b"\x00" * 40)
    with pytest.raises(ValueMismatch, match=r"broken\.mat"):
        on_file(path, "a")


def test_a_file_without_the_name_of_a_matrix(tmp_path: Path) -> None:
    with pytest.raises(ValueMismatch, match="needs the name of a matrix"):
        on_file(tmp_path / "a.txt", "NoName")


def test_a_table_of_the_users_c_code_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="usertab"):
        on_file(Path("NoName"), "mine")
