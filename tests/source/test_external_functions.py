"""Twins of external functions: texts, files, random numbers, Fourier, linear algebra, C."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat
from tests.source.external_host import FakeHost, as_value, plain

from estimica.base.errors import UnsupportedError
from estimica.flat import expression as ex
from estimica.flat.calculus import partial
from estimica.flat.system import Origin
from estimica.source.evaluate.values import ValueMismatch
from estimica.source.external.resources import resource_path
from estimica.source.external.twins import TWINS


def called(function: str, *arguments: Any) -> Any:
    result = FakeHost().call(function, *arguments)
    return plain(result)


def written(function: str, *arguments: Any) -> dict[int, Any]:
    result = FakeHost().call(function, *arguments)
    return {place: plain(value) for place, value in result.arguments.items()}


# --- texts ---


def test_texts() -> None:
    assert called("ModelicaStrings_length", "four") == 4
    assert called("ModelicaStrings_substring", "abcdef", 2, 4) == "bcd"
    assert called("ModelicaStrings_substring", "abc", 5, 9) == ""
    assert called("ModelicaStrings_skipWhiteSpace", " \t x", 1) == 4
    assert [called("ModelicaStrings_compare", "a", b, True) for b in "ab"] == [2, 1]
    assert called("ModelicaStrings_compare", "A", "a", True) == 1
    assert called("ModelicaStrings_compare", "A", "a", False) == 2


@pytest.mark.parametrize(
    ("string", "wanted"),
    [("12 ", (3, 12)), ("  -7,", (5, -7)), ("1.5", (1, 0)), ("1e3", (1, 0)), ("x", (1, 0))],
)
def test_integers_in_a_text(string: str, wanted: tuple[int, int]) -> None:
    found = written("ModelicaStrings_scanInteger", string, 1, False, 0, 0)
    assert (found[3], found[4]) == wanted


@pytest.mark.parametrize(
    ("string", "wanted"),
    [
        ("12", (3, 12.0)),
        (" -1.5e-3x", (9, -1.5e-3)),
        (".5", (3, 0.5)),
        ("5.", (3, 5.0)),
        ("12e", (1, 0.0)),
        (".", (1, 0.0)),
    ],
)
def test_reals_in_a_text(string: str, wanted: tuple[int, float]) -> None:
    found = written("ModelicaStrings_scanReal", string, 1, False, 0, 0.0)
    assert (found[3], found[4]) == wanted


def test_a_sign_is_no_part_of_an_unsigned_number() -> None:
    assert written("ModelicaStrings_scanReal", "-1", 1, True, 0, 0.0) == {3: 1, 4: 0.0}


def test_words_in_a_text() -> None:
    assert written("ModelicaStrings_scanIdentifier", " a_1.b", 1, 0, "") == {2: 5, 3: "a_1"}
    assert written("ModelicaStrings_scanIdentifier", "1a", 1, 0, "") == {2: 1, 3: ""}
    assert written("ModelicaStrings_scanString", ' "a b" c', 1, 0, "") == {2: 7, 3: "a b"}
    assert written("ModelicaStrings_scanString", r'"a\" b"', 1, 0, "") == {2: 8, 3: r"a\" b"}
    assert written("ModelicaStrings_scanString", r'"a\"', 1, 0, "") == {2: 1, 3: ""}


def test_hash_of_a_text() -> None:
    """As the Modelica Standard Library 4.1.0 computes it."""
    texts = ("", "this is a test", "Controller.noise1")
    found = [called("ModelicaStrings_hashString", s) for s in texts]
    assert found == [-1431655766, 1827717433, -1025762750]


def test_a_text_of_the_run_is_refused() -> None:
    with pytest.raises(ValueMismatch, match="only during the run"):
        called("ModelicaStrings_length", ex.name("s"))


# --- files ---


def test_resources_of_libraries(tmp_path: Path) -> None:
    folders = {"Lib": tmp_path, "Lib.Sub": tmp_path / "Sub"}
    assert resource_path("modelica://Lib/Resources/a%20b.txt", folders.get) == (
        tmp_path / "Resources" / "a b.txt"
    )
    assert resource_path("Modelica://Lib.Sub/x", folders.get) == tmp_path / "Sub" / "x"
    assert resource_path("file:///a/b", folders.get) == Path("/a/b")
    assert resource_path("a/b", folders.get) == Path("a/b")
    with pytest.raises(ValueMismatch, match="the package 'Other', which is not loaded"):
        resource_path("modelica://Other/x", folders.get)
    with pytest.raises(ValueMismatch, match="neither a path"):
        resource_path("https://example.org/x", folders.get)


def test_the_digest_of_a_text() -> None:
    found = FakeHost().call("cryptographicsHash", "abc")  # FIPS 180, example A.1
    assert found == "a9993e364706816aba3e25717850c26c9cd0d89d"


def test_the_full_path_of_a_resource(tmp_path: Path) -> None:
    host = FakeHost(folders={"Lib": tmp_path})
    found = host.call("ModelicaInternal_fullPathName", "modelica://Lib/Resources/../x.txt")
    assert found == (tmp_path / "x.txt").as_posix()


def test_a_file_beside_the_model(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("one\ntwo", encoding="utf-8")
    host = FakeHost(place=Origin(file=str(tmp_path / "model.mo")))
    assert plain(host.call("ModelicaInternal_countLines", "data.txt")) == 2


def test_the_stretch_of_time_of_a_table_goes_one_step_beyond_its_last_row(tmp_path: Path) -> None:
    path = tmp_path / "weather.mos"
    path.write_text("#1\n#a remark\ndouble tab1(3,2)\n#units\n100\t1\n160\t2\n220\t3\n")
    assert list(written("getTimeSpan", str(path), "tab1", [0.0, 0.0])[2]) == [100.0, 280.0]


def test_reading_files(tmp_path: Path) -> None:
    path = tmp_path / "data.txt"
    path.write_bytes(b"one\r\ntwo\n\nfour\n")
    name = str(path)
    assert called("ModelicaInternal_countLines", name) == 4
    second = FakeHost().call("ModelicaInternal_readLine", name, 2, False)
    assert (second.returned, plain(second.arguments[2])) == ("two", 0)
    beyond = FakeHost().call("ModelicaInternal_readLine", name, 5, False)
    assert (beyond.returned, plain(beyond.arguments[2])) == ("", 1)
    lines = written("ModelicaInternal_readFile", name, [""] * 4, 4)[1]
    assert list(lines) == ["one", "two", "", "four"]
    kinds = [called("ModelicaInternal_stat", str(p)) for p in (path, tmp_path, tmp_path / "none")]
    assert kinds == [2, 3, 1]
    assert called("ModelicaInternal_getNumberOfFiles", str(tmp_path)) == 1
    names = written("ModelicaInternal_readDirectory", str(tmp_path), 1, [""])[2]
    assert list(names) == ["data.txt"]
    with pytest.raises(ValueMismatch, match="cannot be read"):
        called("ModelicaInternal_countLines", str(tmp_path / "none"))


def test_matrices_on_file(tmp_path: Path) -> None:
    path = str(tmp_path / "m.mat")
    values = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    savemat(path, {"m": values})
    assert list(written("ModelicaIO_readMatrixSizes", path, "m", [0, 0])[2]) == [2, 3]
    read = written("ModelicaIO_readRealMatrix", path, "m", np.zeros((2, 3)), 2, 3, False)[2]
    assert np.array_equal(read.astype(float), values)
    with pytest.raises(ValueMismatch, match="2×3 numbers and 3×2 are asked for"):
        called("ModelicaIO_readRealMatrix", path, "m", np.zeros((3, 2)), 3, 2, False)


def test_nothing_is_written(tmp_path: Path) -> None:
    host = FakeHost()
    path = tmp_path / "log.txt"
    host.call("ModelicaInternal_print", "hello", str(path))
    host.call("ModelicaInternal_print", "again", str(path))
    assert not path.exists()
    assert len(host.notes) == 1
    for name in ("system", "ModelicaInternal_mkdir", "ModelicaInternal_getenv"):
        with pytest.raises(UnsupportedError):
            host.call(name, "x")


# --- random numbers ---


def sequence(name: str, state: list[float]) -> list[float]:
    found = []
    for _ in range(3):
        after = written(f"ModelicaRandom_{name}", state, state, 0.0)
        state = list(after[1])
        found.append(after[2])
    return found


def test_the_first_word_of_xorshift64star_is_the_published_one() -> None:
    """5180492295206395165 follows 1 with the shifts 12, 25, 27 and Vigna's multiplier."""
    low, high = written("ModelicaRandom_xorshift64star", [1, 0], [0, 0], 0.0)[1]
    assert (int(low) & 0xFFFFFFFF) | (int(high) & 0xFFFFFFFF) << 32 == 5180492295206395165


@pytest.mark.parametrize(
    ("name", "state", "wanted"),
    [
        ("xorshift64star", [1, 0], [0.7808350500503596, 0.6402388791967286, 0.7151341146832786]),
        (
            "xorshift128plus",
            [1, 2, 3, 4],
            [0.5039062821310871, 0.5156251248568117, 0.7656308515043019],
        ),
        (
            "xorshift1024star",
            [*range(1, 33), 0],
            [0.37670097295847393, 0.809107972386044, 0.8755638338816416],
        ),
    ],
)
def test_sequences_of_the_library(name: str, state: list[float], wanted: list[float]) -> None:
    """Bit for bit what the C functions of the Modelica Standard Library 4.1.0 return."""
    assert sequence(name, state) == wanted


@pytest.mark.parametrize(
    ("name", "size"), [("xorshift64star", 2), ("xorshift128plus", 4), ("xorshift1024star", 33)]
)
def test_random_numbers_of_the_run_are_calls(name: str, size: int) -> None:
    state = [(-1) ** k * (123456789 * (k + 3) % 2**31) for k in range(size)]
    symbols = [ex.name(f"s{k}") for k in range(size)]
    host = FakeHost()
    result = host.call(f"ModelicaRandom_{name}", np.array(symbols, dtype=object), state, 0.0)
    given = {f"s{k}": float(x) for k, x in enumerate(state)}
    numbers = [host.at(e, **given) for e in (*result.arguments[1], result.arguments[2])]
    known = written(f"ModelicaRandom_{name}", state, state, 0.0)
    assert numbers == [*known[1], known[2]]


def test_random_numbers_fill_the_unit_interval() -> None:
    state: list[float] = [7, 11]
    numbers = []
    for _ in range(4000):
        after = written("ModelicaRandom_xorshift64star", state, state, 0.0)
        state = list(after[1])
        numbers.append(after[2])
    assert np.mean(numbers) == pytest.approx(0.5, abs=0.02)
    assert np.std(numbers) == pytest.approx(1.0 / math.sqrt(12.0), abs=0.01)


def test_seeds() -> None:
    host = FakeHost()
    assert host.call("ModelicaRandom_automaticGlobalSeed", 0.0) is host.call(
        "ModelicaRandom_automaticGlobalSeed", 0.0
    )
    assert host.notes
    halves = written("ModelicaRandom_convertRealToIntegers", 3.7, [0, 0])[1]
    assert list(halves) == [-1717986918, 1074633113]
    with pytest.raises(UnsupportedError, match="impure"):
        host.call("ModelicaRandom_impureRandom_xorshift1024star", 1)


# --- Fourier ---


def test_fourier_transform_of_a_cosine() -> None:
    n = 12
    samples = 3.0 + 2.0 * np.cos(2.0 * np.pi * 2.0 * np.arange(n) / n + 0.4)
    result = FakeHost().call(
        "ModelicaFFT_kiss_fftr", samples, n, np.zeros(50), 50, np.zeros(7), np.zeros(7)
    )
    amplitudes, phases = (plain(result.arguments[k]).astype(float) for k in (4, 5))
    assert plain(result.returned) == 0
    assert amplitudes * 7 / n == pytest.approx([3.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0], abs=1e-12)
    assert phases[2] == pytest.approx(0.4)
    odd = FakeHost().call("ModelicaFFT_kiss_fftr", [1.0] * 3, 3, [0.0] * 20, 20, [0.0], [0.0])
    assert plain(odd.returned) == 1


# --- linear algebra ---

A = np.array(
    [[4.0, 1.0, 2.0, 0.5], [1.0, 3.0, 0.0, 1.0], [2.0, 0.0, 5.0, 1.0], [0.0, 1.0, 1.0, 2.0]]
)
B = np.array([1.0, -2.0, 0.5, 3.0])


def test_linear_equations() -> None:
    result = written("dgesv", 4, 1, A, 4, np.zeros(4), B, 4, 0)
    assert result[5].astype(float) == pytest.approx(np.linalg.solve(A, B))


def test_singular_equations_say_so() -> None:
    result = written("dgesv", 2, 1, np.ones((2, 2)), 2, np.zeros(2), [1.0, 2.0], 2, 0)
    assert result[7] == 2


@pytest.mark.parametrize("n", [1, 2, 3])
def test_small_equations_of_the_run_are_formulas(n: int) -> None:
    host = FakeHost()
    matrix = as_value(A[:n, :n])
    matrix[0, 0] = ex.name("a")
    right = as_value(B[:n])
    solution = host.call("dgesv", n, 1, matrix, n, np.zeros(n), right, n, 0).arguments[5]
    exact = A[:n, :n].copy()
    exact[0, 0] = 7.0
    found = [host.at(e, a=7.0) for e in solution]
    assert found == pytest.approx(list(np.linalg.solve(exact, B[:n])))
    # dx/da = -A⁻¹ e₁ e₁ᵀ x
    slope = [host.at(partial(e, ex.name("a")), a=7.0) for e in solution]
    assert slope == pytest.approx(list(-np.linalg.inv(exact)[:, 0] * found[0]))


def test_large_equations_of_the_run_are_refused() -> None:
    matrix = as_value(A)
    matrix[0, 0] = ex.name("a")
    with pytest.raises(UnsupportedError):
        FakeHost().call("dgesv", 4, 1, matrix, 4, np.zeros(4), B, 4, 0)


def test_factors_and_inverse() -> None:
    factors = written("dgetrf", 4, 4, A, 4, np.zeros(4), 0)
    lu, pivots = factors[2].astype(float), factors[4].astype(float)
    inverse = written("dgetri", 4, lu, 4, pivots, np.zeros(4), 4, 0)
    assert inverse[1].astype(float) == pytest.approx(np.linalg.inv(A))
    solved = written("dgetrs", "N", 4, 1, lu, 4, pivots, B, 4, 0)
    assert solved[6].astype(float) == pytest.approx(np.linalg.solve(A, B))


def test_eigenvalues() -> None:
    work = np.zeros(40)
    result = written(
        "dgeev", "N", "V", 4, A, 4, np.zeros(4), np.zeros(4), np.zeros((1, 4)), 1,
        np.zeros((4, 4)), 4, work, 40, 0,
    )  # fmt: skip
    values = result[5].astype(float)
    assert sorted(values) == pytest.approx(sorted(np.linalg.eigvals(A).real))
    vectors = result[9].astype(float)
    assert A @ vectors == pytest.approx(vectors * values)


def test_singular_values_and_least_squares() -> None:
    tall = A[:, :2]
    singular = written(
        "dgesvd", "N", "N", 4, 2, tall, 4, np.zeros(2), np.zeros((4, 4)), 4, np.zeros((2, 2)), 2,
        np.zeros(40), 40, 0,
    )  # fmt: skip
    assert singular[6].astype(float) == pytest.approx(np.linalg.svd(tall)[1])
    fitted = written("dgels", "N", 4, 2, 1, tall, 4, B, 4, np.zeros(40), 40, 0)
    assert fitted[6].astype(float)[:2] == pytest.approx(np.linalg.lstsq(tall, B)[0])


def test_a_routine_that_returns_a_number_and_one_with_a_function() -> None:
    host = FakeHost()
    norm = host.call("dlange", "1", 4, 4, A, 4, np.zeros(4))
    assert plain(norm.returned) == pytest.approx(np.linalg.norm(A, 1))
    schur = written(
        "dgees", "V", "N", 0, 4, A, 4, 0, np.zeros(4), np.zeros(4), np.zeros((4, 4)), 4,
        np.zeros(40), 40, np.zeros(4), 0,
    )  # fmt: skip
    z, t = schur[9].astype(float), schur[4].astype(float)
    assert z @ t @ z.T == pytest.approx(A)


def test_wrong_sizes_do_no_harm() -> None:
    written("dgesv", 9, 1, A, 9, np.zeros(4), B, 9, 0)
    with pytest.raises(ValueMismatch, match="too large"):
        called("dgesv", 90000, 1, A, 90000, np.zeros(4), B, 4, 0)
    with pytest.raises(ValueMismatch, match="has 6 arguments and is given 2"):
        called("dgetrf", 4, A)


def test_what_is_no_routine() -> None:
    assert "dgesv" in TWINS
    assert "dnothing" not in TWINS
    assert "my_function" not in TWINS
    assert TWINS.get("dnothing") is None


# --- the C library ---


@pytest.mark.parametrize(
    ("name", "arguments", "wanted"),
    [
        ("atan2", (1.0, -2.0), math.atan2(1.0, -2.0)),
        ("fmod", (-7.5, 2.0), math.fmod(-7.5, 2.0)),
        ("trunc", (-2.7,), -2.0),
        ("round", (-2.5,), -3.0),
        ("round", (2.4,), 2.0),
        ("cbrt", (-27.0,), -3.0),
        ("copysign", (3.0, -1.0), -3.0),
        ("hypot", (3.0, 4.0), 5.0),
        ("log2", (8.0,), 3.0),
        ("expm1", (0.5,), math.expm1(0.5)),
        ("fmax", (1.0, 2.0), 2.0),
        ("pow", (2.0, 10.0), 1024.0),
    ],
)
def test_functions_of_c(name: str, arguments: tuple[float, ...], wanted: float) -> None:
    host = FakeHost()
    assert plain(host.call(name, *arguments)) == pytest.approx(wanted)
    names = [ex.name(f"x{k}") for k in range(len(arguments))]
    e = host.call(name, *names)
    given = {f"x{k}": a for k, a in enumerate(arguments)}
    assert host.at(e, **given) == pytest.approx(wanted)


def test_a_wrong_number_of_arguments() -> None:
    with pytest.raises(ValueMismatch, match="takes 1 arguments and is given 2"):
        called("sin", 1.0, 2.0)
