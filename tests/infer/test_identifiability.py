"""Identifiability: what is determined, in words; what to fix; what would help."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.estimate.problems import RC, TWO_STATES, curve, rc_table, simulated, steps
from typer.testing import CliRunner

from estimica.apps.cli.commands.app import app
from estimica.base.errors import FitError
from estimica.estimate.conclusion.identifiability import in_words
from estimica.estimate.identify.invariants import Group, NullSpaceSample, groups
from estimica.estimate.run.fit import fit
from estimica.infer.identifiability.run import correlated, identifiability
from estimica.simulate.load import load_model
from estimica.study.case import Case
from estimica.study.study import Study
from estimica.study.tuner import Tuner

X = np.linspace(0, 1, 40)


# --- words for null directions -------------------------------------------------------------------


def found(
    names: str, start: Sequence[float], seen: Callable[[np.ndarray], np.ndarray]
) -> tuple[Group, ...]:
    """Groups of unknowns of which only the functions `seen` are determined."""
    labels = names.split()
    random = np.random.default_rng(3)

    def null(values: np.ndarray) -> np.ndarray:
        step = 1e-20
        shifted = [values + 1j * step * e for e in np.eye(len(values))]
        J = np.array([np.imag(seen(v)) / step for v in shifted]).T
        _, s, Vt = np.linalg.svd(J)
        return Vt[int((s > 1e-10 * s[0]).sum()) :]

    first = np.array(start, float)
    places = [NullSpaceSample(first, null(first))]
    for _ in range(6):
        direction = random.standard_normal(len(places[0].null)) @ places[0].null
        away = 0.3 * random.uniform(0.5, 1.5) * direction / np.abs(direction / first).max()
        places.append(NullSpaceSample(first + away, null(first + away)))
    return groups(labels, places, 1e-6)


@pytest.mark.parametrize(
    ("names", "start", "seen", "words"),
    [
        ("R C", [2, 0.3], lambda v: np.array([v[0] * v[1]]), ["R·C"]),
        ("A B C", [1, 2, 3], lambda v: np.array([v[0], v[1] / v[2]]), ["B/C"]),
        ("R1 R2 C", [1, 2, 3], lambda v: np.array([v[0] * v[2], v[1] * v[2]]), ["R1·C and R2·C"]),
        ("J m", [1, 2], lambda v: np.array([v[0] + 0.01501 * v[1]]), ["J + 0.01501·m"]),
        ("a b", [1, 2], lambda v: np.array([v[0] - v[1]]), ["a − b"]),
        ("a b", [1, 2], lambda v: np.array([v[0] - 2 * v[1]]), ["a − 2·b"]),
        ("a b", [-1.5, 2], lambda v: np.array([v[0] * v[1]]), ["a·b"]),
        ("m v", [1, 2], lambda v: np.array([v[0] * v[1] ** 2]), ["m·v²"]),
        ("k T", [1, 2], lambda v: np.array([v[0] * v[1] ** 1.5]), ["k²·T³"]),
        ("k T", [1, 2], lambda v: np.array([v[0] * v[1] ** 0.37]), ["k·T^0.37"]),
        ("a b c", [1, 2, 3], lambda v: np.array([v[0] * v[1] * v[2]]), ["a·b·c"]),
        ("a b c", [1, 2, 3], lambda v: np.array([v[0] / (v[1] * v[2])]), ["a/(b·c)"]),
        ("J m r", [1, 2, 3], lambda v: np.array([v[0] + v[1] * v[2] ** 2]), ["J + m·r²"]),
        ("a b c", [1, 2, 3], lambda v: np.array([(v[0] + v[1]) * v[2]]), ["a·c + b·c"]),
        ("a b c", [1, -2, 3], lambda v: np.array([v[0] * v[1] - 2.5 * v[2]]), ["c − 0.4·a·b"]),
        (
            "a b c d",
            [1, 2, 3, 4],
            lambda v: np.array([v[0] * v[1], v[2] + v[3]]),
            ["a·b", "c + d"],
        ),
        (
            "k01 k21 k12 k02",
            [1, 2, 3, 4],
            lambda v: np.array([v[0] + v[1], v[2] * v[1], v[2] + v[3]]),
            ["k21·k12, k01 + k21 and k12 + k02"],
        ),
    ],
)
def test_products_powers_ratios_and_sums_are_recognised(
    names: str, start: list[float], seen: Callable[[np.ndarray], np.ndarray], words: list[str]
) -> None:
    told = found(names, start, seen)
    assert [g.text for g in told] == words
    assert all(g.complete for g in told)


def test_what_is_neither_product_nor_sum_is_not_called_one() -> None:
    (group,) = found("a b c", [1, 2, 3], lambda v: np.array([v[0] * v[1] + np.exp(v[2])]))
    assert (group.determined, group.invariants, group.complete) == (1, (), False)


def test_a_part_that_has_words_is_told_where_the_rest_has_none() -> None:
    (group,) = found(
        "a b c d", [1, 2, 3, 4], lambda v: np.array([v[0] * v[1], v[1] + v[2] * np.exp(v[3])])
    )
    assert group.text == "a·b"
    assert not group.complete


def test_unknowns_that_do_nothing_are_groups_of_their_own() -> None:
    told = found("a b c", [1, 2, 3], lambda v: np.array([v[0]]))
    assert [(g.names, g.determined) for g in told] == [(("b",), 0), (("c",), 0)]


def test_names_with_blanks_are_bracketed() -> None:
    null = NullSpaceSample(np.array([1.0, 2.0]), np.array([[1.0, -2.0]]))
    later = NullSpaceSample(np.array([2.0, 1.0]), np.array([[2.0, -1.0]]))
    (group,) = groups(["k", "start of x in run"], [null, later], 1e-6)
    assert group.text == "k·(start of x in run)"


def noisy_places(count: int, noise: float) -> list[NullSpaceSample]:
    """R·C, seen through a null direction in which another unknown k takes part by its error."""
    found = []
    for step in np.linspace(0, 0.8, count):
        values = np.array([2 * np.exp(step), 0.3 * np.exp(-step), 5.0])
        found.append(NullSpaceSample(values, values * [[1, -1, noise]]))
    return found


def test_exponents_within_the_error_of_the_direction_are_simplified() -> None:
    (group,) = groups(["R", "C", "k"], noisy_places(5, 0.0135), 1e-2)
    assert (group.names, group.text, group.numerical) == (("R", "C"), "R·C", False)


def test_an_odd_exponent_that_is_no_error_is_said_to_be_numerical() -> None:
    (group,) = groups(["R", "C", "k"], noisy_places(5, 0.0135), 1e-6)
    assert group.numerical
    (group,) = found("k T", [1, 2], lambda v: np.array([v[0] * v[1] ** 0.3341]))
    assert (group.text, group.numerical) == ("k·T^0.3341", True)  # and not k³·T
    (group,) = found("k T", [1, 2], lambda v: np.array([v[0] * v[1] ** (1 / 3)]))
    assert (group.text, group.numerical) == ("k³·T", False)


def test_one_place_tells_no_product_from_a_sum() -> None:
    (group,) = groups(["R", "C", "k"], noisy_places(1, 0.0), 1e-6)
    assert group.numerical
    told = in_words(group, ["R"], [])
    assert told.startswith("only R·C is determined by these data, not 'R' and 'C' on their own "
                           "(numerically, near this point)")  # fmt: skip


def test_start_values_stay_out_of_what_can_be_said_without_them() -> None:
    # k·x0 and m·x0 are determined: so is k/m
    def null(values: np.ndarray) -> np.ndarray:
        return values * np.array([[1.0, 1.0, -1.0]])

    places = [NullSpaceSample(v, null(v)) for v in np.array([1.0, 2, 3]) * np.exp(
        np.outer([0, 0.3, -0.3, 0.5], [1, 1, -1]))]  # fmt: skip
    (group,) = groups(["k", "m", "start of x in run"], places, 1e-6)
    assert group.text == "k·(start of x in run) and m·(start of x in run)"
    (group,) = groups(["k", "m", "start of x in run"], places, 1e-6, starts=[False, False, True])
    assert group.text == "k/m and m·(start of x in run)"


# --- studies -------------------------------------------------------------------------------------


def rc_study() -> Study:
    model, table = rc_table()
    case = Case("run", table, inputs={"u": "u"}, outputs={"v": "v"})
    return Study(model, [Tuner("R", start=2.0), Tuner("C", start=1.0)], [case])


def test_of_the_rc_circuit_only_the_product_is_determined_by_whatever_data() -> None:
    judged = identifiability(rc_study())
    assert (judged.rank, judged.n, judged.invariants) == (1, 2, ("R·C",))
    (direction,) = judged.null_directions
    assert direction["R"] == pytest.approx(-direction["C"], rel=1e-6)
    assert judged.advice == (
        "only R·C is determined by these data, not 'R' and 'C' on their own; fix one of them, "
        "best 'R', or measure something that tells them apart; no better data of the same inputs "
        "and outputs can help",
    )
    assert np.isnan(judged.correlation).all()
    assert np.isinf(judged.vif).all()
    assert judged.structural is not None
    assert judged.structural.rank == 1
    assert math.inf == judged.measures.measures.R


def test_two_resistors_and_a_capacity_are_explained_in_products(cases: Path) -> None:
    model = load_model(
        """model Simple2R1C
          parameter Real R1 = 0.08; parameter Real R2 = 0.08; parameter Real C = 1000;
          input Real Ti1; input Real Ti2; output Real T(start = 293.15, fixed = true);
        equation
          C*der(T) = (Ti1 - T)/R1 + (Ti2 - T)/R2;
        end Simple2R1C;"""
    )
    folder = cases / "modestpy_2R1C"
    inputs = pd.read_csv(folder / "inputs.csv")
    table = pd.concat([inputs, pd.read_csv(folder / "result.csv")["T"]], axis=1)
    case = Case("run", table, inputs={"Ti1": "Ti1", "Ti2": "Ti2"}, outputs={"T": "T"}, time="time")
    for scale in ("log", "auto"):
        tuners = [Tuner(n, scale=scale, min=1e-6) for n in ("R1", "R2", "C")]
        judged = identifiability(Study(model, tuners, [case]))
        assert (judged.rank, judged.n) == (2, 3)
        assert judged.invariants == ("R1·C", "R2·C")
        assert judged.advice[0].startswith("only R1·C and R2·C are determined by these data, not")
        assert judged.structural is not None
        assert judged.structural.rank == 2
        assert len(judged.fix) == 1


def test_poor_data_of_a_good_structure_can_be_bettered() -> None:
    # without an input the gain does not show
    model = load_model("""model Lag
      parameter Real K = 2; parameter Real tau = 3; input Real u;
      output Real y(start = 1, fixed = true);
    equation
      tau*der(y) + y = K*u;
    end Lag;""")
    time = np.linspace(0, 10, 50)
    table = pd.DataFrame({"time": time, "u": 0.0 * time, "y": np.exp(-time / 3)})
    case = Case("run", table, inputs={"u": "u"}, outputs={"y": "y"})
    judged = identifiability(Study(model, ["K", "tau"], [case]))
    assert judged.rank == 1
    assert judged.structural is not None
    assert judged.structural.ok
    (advice,) = judged.advice
    assert advice.startswith("'K' has no effect on the outputs of these cases; fix it; better data")


def test_another_output_that_would_help_is_named() -> None:
    # the same current loads both; measuring it tells the resistance from the capacity
    model = load_model("""model Loaded
      parameter Real R = 2; parameter Real C = 0.3; input Real u;
      output Real v(start = 0, fixed = true); output Real i;
    equation
      C*der(v) = i; u - v = R*i;
    end Loaded;""")
    time = np.linspace(0, 5, 60)
    u = np.sin(3 * time)
    y = model.simulate(time, {"u": (time, u)}, outputs=["v"]).value("v")
    table = pd.DataFrame({"time": time, "u": u, "v": y})
    case = Case("run", table, inputs={"u": "u"}, outputs={"v": "v"})
    judged = identifiability(Study(model, ["R", "C"], [case]))
    assert judged.invariants == ("R·C",)
    assert judged.advice[0].endswith(
        "no better data of the same inputs and outputs can help, but measuring 'i' too would"
    )


def test_correlated_unknowns_are_named_together() -> None:
    y = 1 + 2 * (X + 20) + 0.01 * np.random.default_rng(0).standard_normal(40)
    judged = identifiability(curve("a + b*(x + 20) + c*x^2", X, y, {"a": 0.5, "b": 1, "c": 0.1}))
    assert judged.rank == 3
    (group,) = judged.correlated
    assert group.names == ("a", "b", "c")
    assert any("errors go together" in a for a in judged.advice)
    A = np.stack([np.ones(40), X + 20, X**2], axis=1)
    inverse = np.linalg.inv(A.T @ A)
    sizes = np.sqrt(np.diag(inverse))
    assert judged.correlation == pytest.approx(inverse / np.outer(sizes, sizes), rel=1e-6)
    vif = np.diag(inverse) * np.diag(A.T @ A)
    assert judged.vif == pytest.approx(vif, rel=1e-5)


def test_groups_of_correlations_are_joined_through_common_members() -> None:
    matrix = np.eye(5)
    for i, j, r in ((0, 1, 0.97), (1, 3, -0.99), (2, 4, 0.9)):
        matrix[i, j] = matrix[j, i] = r
    (group,) = correlated(("a", "b", "c", "d", "e"), matrix)
    assert group.names == ("a", "b", "d")
    assert group.correlation == -0.99


def test_fixing_what_is_advised_leaves_the_best_conditioned_rest() -> None:
    # a·b and b·c^0.01 are seen: fixing c would leave a and b all but free
    y = 6 + X
    study = curve("a*b + x*b*c^0.01", X, y, {"a": 2.0, "b": 1.0, "c": 1.0})
    judged = identifiability(study)
    assert judged.rank == 2
    conditions = {}
    for name in ("a", "b", "c"):
        tuners = [Tuner(t.name, start=t.start, active=t.name != name) for t in study.tuners]
        conditions[name] = fit(study.with_(tuners=tuners)).identifiability.singular_values[-1]
    assert judged.fix == (max(conditions, key=conditions.__getitem__),)


def test_an_undetermined_direction_without_words_is_told_in_relative_changes() -> None:
    study = curve("(a*b + exp(c))*(1 + x)", X, 9 * (1 + X), {"a": 1.0, "b": 2.0, "c": 2.0})
    judged = identifiability(study)
    assert judged.rank == 1
    assert judged.advice[0].startswith(
        "these data determine only one combination of 'a', 'b' and 'c' (unnoticed go together: "
    )
    assert "fix two of them" in judged.advice[0]


def test_unknowns_at_bounds_are_held_and_said_to_be() -> None:
    y = 1 - 0.5 * X
    study = curve("a + b*x", X, y, [Tuner("a", start=0.5), Tuner("b", start=1.0, min=0.0)])
    judged = identifiability(study)
    assert judged.at_bound == ("", "min")
    assert math.isnan(judged.vif[1])
    assert judged.measures.measures.names == ("a",)
    row = next(r for r in judged.table().rows if r[0] == "b")
    assert row[2] == "held"
    assert row[-1] == "at its min"


def test_a_rank_that_is_full_leaves_nothing_to_advise() -> None:
    model = load_model(TWO_STATES)
    time = np.linspace(0, 40, 300)
    table = simulated(model, time, steps(time), {"a1": 1.0}, ["y1", "y2"])
    case = Case("run", table, inputs={"u1": "u1", "u2": "u2"}, outputs={"y1": "y1", "y2": "y2"})
    judged = identifiability(Study(model, ["a1", "b2"], [case]))
    assert judged.text == "the data determine all 2 unknowns"
    assert judged.advice == ()
    assert judged.structural is not None
    assert judged.structural.ok


def test_structure_can_be_left_out() -> None:
    judged = identifiability(rc_study(), structural=False)
    assert judged.structural is None
    assert judged.to_dict()["structural"] is None
    assert judged.advice[0].endswith("; whether better data could help was not asked")


# --- what it shows -------------------------------------------------------------------------------


def test_json_has_what_the_design_asks_for() -> None:
    told = identifiability(rc_study()).to_dict()
    json.dumps(told, allow_nan=False)
    assert {"rank", "n", "null_directions", "advice"} <= told["identifiability"].keys()
    assert {"structural", "measures", "correlation"} <= told.keys()
    assert told["measures"]["R"] is None  # infinite
    assert told["identifiability"]["determined"] == ["R·C"]
    assert told["structural"]["identifiable"] == {"R": False, "C": False}


def test_identifiability_shows_itself(tmp_path: Path) -> None:
    y = 1 + 2 * X + 0.1 * np.random.default_rng(0).standard_normal(40)
    judged = identifiability(curve("a + b*x", X, y, {"a": 0.5, "b": 0.5}))
    assert "the data determine all 2 unknowns" in repr(judged)
    assert "<table" in judged._repr_html_()
    assert judged.plot().data[0].type == "heatmap"
    assert {row[k] for k, row in enumerate(judged.plot().data[0].text)} == {"1.00"}
    assert judged.plot("ellipses").data
    page = judged.report(tmp_path / "page.html").read_text(encoding="utf-8")
    for heading in ("Verdict", "Whatever the data", "Sensitivity measures", "Correlation"):
        assert heading in page
    with pytest.raises(FitError, match=r"F063: there is no plot 'elipses'; did you mean 'ellipses"):
        judged.plot("elipses")


def test_page_of_a_deficient_study_tells_what_goes_unnoticed(tmp_path: Path) -> None:
    page = identifiability(rc_study()).report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "What goes unnoticed" in page
    assert "only R·C is determined" in page.lower().replace("r·c", "R·C")


def test_a_fit_that_failed_has_no_estimate_to_judge() -> None:
    study = curve("log(a)*x", X, X, [Tuner("a", start=-1.0)])
    with pytest.raises(FitError, match=r"F062: there is no estimate to judge: the simulation of"):
        identifiability(study)


def test_a_study_without_unknowns_is_refused() -> None:
    study = curve("a + x", X, X, [Tuner("a", start=1.0, active=False)])
    with pytest.raises(FitError, match=r"F060: study 'formula' has no unknowns; add a tuner"):
        identifiability(study)


# --- commands ------------------------------------------------------------------------------------


@pytest.fixture
def study_file(tmp_path: Path) -> Path:
    (tmp_path / "RC.mo").write_text(RC, encoding="utf-8")
    _, table = rc_table(n=60)
    table.to_csv(tmp_path / "run.csv", index=False)
    path = tmp_path / "rc.toml"
    path.write_text(
        """[model]
source = "RC.mo"
[tune]
R = 2.0
C = 1.0
[[case]]
name = "run"
data = "run.csv"
inputs = { u = "u" }
outputs = { v = "v" }
""",
        encoding="utf-8",
    )
    return path


def run(*arguments: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, list(map(str, arguments)))
    return done.exit_code, done.stdout, done.stderr


def test_identifiability_command_prints_the_advice_and_writes_a_page(study_file: Path) -> None:
    page = study_file.with_name("page.html")
    code, out, err = run("identifiability", study_file, "--report", page)
    assert code == 0
    assert "only R·C is determined by these data" in out
    assert page.exists()
    assert "stored as run" in err


def test_identifiability_command_prints_one_json_object(study_file: Path) -> None:
    code, out, _ = run("identifiability", study_file, "--json", "--no-store", "--seed", 3)
    told = json.loads(out)
    assert code == 0
    assert told["command"] == "identifiability"
    assert (told["identifiability"]["rank"], told["identifiability"]["n"]) == (1, 2)
    assert told["structural"]["rank"] == 1


def test_map_command_prints_the_valley(study_file: Path) -> None:
    page = study_file.with_name("map.html")
    code, out, _ = run(
        "map", study_file, "R", "C", "--points", 5, "--range", "R=0.5:2", "--report", page
    )
    assert code == 0
    assert "there is a valley along which R +" in out
    assert page.exists()
    code, out, _ = run("map", study_file, "R", "C", "--points", 4, "--json", "--no-store",
                       "--at-start", "--differences")  # fmt: skip
    told = json.loads(out)
    assert (told["command"], told["kind"]) == ("map", "differences")
    assert np.shape(told["cost"]) == (4, 4)
    assert told["centre"]["R"] == 2.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("R", "K"), "F082: there is no tuner 'K' (there are R, C)"),
        (("R", "C", "--range", "R=1"), "F088: --range 'R=1': write NAME=LOW:HIGH"),
    ],
)
def test_map_command_refuses_what_it_cannot_draw(
    study_file: Path, arguments: tuple[str, ...], message: str
) -> None:
    code, _, err = run("map", study_file, *arguments, "--no-store")
    assert code == 2
    assert message in err


def test_inertia_mass_and_distance_are_seen_as_one_sum_of_products() -> None:
    model = load_model("""model Arm
      parameter Real J_c = 0.0014; parameter Real m = 0.165; parameter Real r_c = 0.1225;
      parameter Real d = 0.01; input Real tau; output Real w(start = 0, fixed = true);
    equation
      (J_c + m*r_c^2)*der(w) = tau - d*w;
    end Arm;""")
    time = np.linspace(0, 3, 80)
    tau = np.sin(4 * time)
    w = model.simulate(time, {"tau": (time, tau)}, outputs=["w"]).value("w")
    table = pd.DataFrame({"time": time, "tau": tau, "w": w})
    case = Case("run", table, inputs={"tau": "tau"}, outputs={"w": "w"})
    tuners = [Tuner("J_c", start=0.002), Tuner("m", start=0.2), Tuner("r_c", start=0.1), "d"]
    judged = identifiability(Study(model, tuners, [case]))
    assert judged.rank == 2
    assert judged.advice[0].startswith("only J_c + m·r_c² is determined by these data, not")
    assert judged.structural is not None
    assert judged.structural.text.startswith("whatever the data, only J_c + m·r_c² is determined")
