"""Base Modelica as OpenModelica writes it: every construct beside its Modelica original."""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import estimica as es
from estimica.base.arrays import Vector
from estimica.base.errors import EstimicaError, SourceError, UnsupportedError
from estimica.flat.system import StateSelect, Variability
from estimica.source.base_modelica.document import base_text
from estimica.source.base_modelica.load import base_modelica_system
from estimica.source.load import load_flat

FOLDER = Path(__file__).with_name("base_modelica")
FILES = sorted(FOLDER.glob("*.bmo"))
VARYING = (Variability.CONTINUOUS, Variability.DISCRETE)
TIMES = np.linspace(0.0, 1.0, 21)

#: the originals of these have solutions that are known
CLOSED: dict[str, Callable[[Vector], dict[str, Vector]]] = {
    "enumeration_index": lambda t: {f"x[{k}]": np.exp(-k * t) for k in (1, 2, 3)},
    "function_several": lambda t: {
        "r": np.hypot(1.0, t),
        "phi": np.arctan2(t, 1.0),
        "psi": np.arctan2(1.0, t),
    },
    "partial_application": lambda t: {"y": 2 * t**4},
    "record_array_field": lambda t: {"m.X[1]": t, "m.X[2]": 1 - t, "m.sum": 2 - t},
}


def simulated(model: es.ModelicaModel) -> dict[str, Vector]:
    names = [v.name for v in model.flat.variables if v.variability in VARYING]
    inputs = dict.fromkeys(model.system.inputs, 1.5)
    run = model.simulate(TIMES, inputs=inputs, outputs=[n for n in names if n not in inputs])
    return {name: np.asarray(run[name]) for name in run.names}


def text(body: str, before: str = "") -> str:
    return f"//! base 0.1.0\npackage 'M'\n{before}\n  model 'M'\n{body}\n  end 'M';\nend 'M';\n"


def test_there_are_at_least_sixty_files_each_with_its_original() -> None:
    assert len(FILES) >= 60
    assert all(f.with_suffix(".mo").is_file() for f in FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda f: f.stem)
def test_a_text_simulates_as_its_modelica_original(path: Path) -> None:
    found = simulated(es.load_model(path))
    expected = (
        CLOSED[path.stem](TIMES)
        if path.stem in CLOSED
        else simulated(es.load_model(path.with_suffix(".mo")))
    )
    assert expected
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=2e-6, atol=1e-7, err_msg=name)


# --- what is read beside the equations -----------------------------------------------------------


def test_attributes_units_and_descriptions_are_read() -> None:
    system = load_flat(FOLDER / "attributes.bmo")
    R, T = system.by_name["R"], system.by_name["T"]
    assert (R.unit, R.quantity, R.description) == ("Ohm", "Resistance", "Resistance")
    assert R.minimum is not None
    assert R.minimum.value == 0.1
    assert R.maximum is not None
    assert R.maximum.value == 1000.0
    assert (T.unit, T.display_unit, T.fixed) == ("K", "degC", True)
    assert T.nominal is not None
    assert T.nominal.value == 300.0


def test_types_hand_their_attributes_on() -> None:
    v = load_flat(FOLDER / "type_alias.bmo").by_name["v"]
    assert v.unit == "V"
    assert v.start is not None
    assert v.start.value == 2.0
    assert v.maximum is not None
    assert v.maximum.value == 20.0


def test_state_selection_enumerations_and_texts_are_read() -> None:
    selected = load_flat(FOLDER / "state_select.bmo")
    assert selected.by_name["x"].state_select is StateSelect.PREFER
    assert selected.by_name["y"].state_select is StateSelect.NEVER
    kind = load_flat(FOLDER / "enumeration.bmo").by_name["kind"]
    assert kind.literals == ("linear", "quadratic")
    assert load_flat(FOLDER / "string_parameter.bmo").by_name["name"].text == 'valve "A"'


def test_the_experiment_and_the_description_are_read() -> None:
    system = load_flat(FOLDER / "remarks.bmo")
    assert system.description == "A model with remarks"
    found = system.experiment
    assert (found.start, found.stop, found.tolerance, found.interval) == (0.0, 2.0, 1e-8, 0.01)


def test_inputs_and_outputs_are_those_of_the_model() -> None:
    system = load_flat(FOLDER / "input_output.bmo")
    assert system.by_name["u"].causality == "input"
    assert system.by_name["y"].causality == "output"


def test_an_equation_knows_its_file_and_line() -> None:
    origin = load_flat(FOLDER / "decay.bmo").equations[0].origin
    assert (origin.file, origin.line) == ("decay.bmo", 7)
    assert origin.text == "der('x') = -'k' * 'x'"


def test_sensitivities_are_exact() -> None:
    model = es.load_model(FOLDER / "decay.bmo")
    found = model.sensitivities(TIMES, wrt=["k"], outputs=["x"]).jacobian[:, 0, 0]
    np.testing.assert_allclose(found, -1.5 * TIMES * np.exp(-2.0 * TIMES), atol=1e-6)


def test_a_record_gives_its_parameters_to_tuning() -> None:
    model = es.load_model(FOLDER / "record_parameter.bmo")
    run = model.simulate(TIMES, parameters={"d.a": 1.0})
    np.testing.assert_allclose(run["x"], 0.5 + 0.5 * np.exp(-2.0 * TIMES), rtol=1e-6)


def test_terminate_ends_the_run_with_its_message() -> None:
    body = """    Real 'x'(fixed = true, start = 0.0);
  equation
    der('x') = 1.0;
    when 'x' > 0.5 then
      terminate("full");
    end when;"""
    run = es.load_model(text(body)).simulate(TIMES)
    assert run.termination is not None
    assert run.termination.message == "full"
    assert run.termination.time == pytest.approx(0.5, abs=1e-9)


def test_an_assertion_in_a_branch_counts_in_that_branch_only() -> None:
    model = es.load_model(FOLDER / "guarded_assertion.bmo")
    model.simulate(TIMES)
    with pytest.raises(es.SimulationError, match="x should have fallen by now"):
        es.load_model(
            (FOLDER / "guarded_assertion.bmo").read_text().replace("'x' < 0.7", "'x' < 0.4")
        ).simulate(TIMES)


def test_texts_that_change_are_left_out_with_a_note() -> None:
    body = """    Real 'x' = time;
    String 's' = String('x', significantDigits = 3);
    String 't';
  equation
    't' = "now";"""
    model = es.load_model(text(body))
    assert "texts that change during the run are left out: s, t" in model.notes
    np.testing.assert_allclose(model.simulate(TIMES, outputs=["x"])["x"], TIMES)


def test_a_default_of_a_record_gives_way_to_an_equation() -> None:
    record = "  record 'R'\n    Real 'a' = 1.0;\n    Real 'b' = 5.0;\n  end 'R';"
    body = "    'R' 'r';\n  equation\n    'r'.'a' = time;"
    run = es.load_model(text(body, record)).simulate(TIMES, outputs=["r.a", "r.b"])
    np.testing.assert_allclose(run["r.a"], TIMES)
    np.testing.assert_allclose(run["r.b"], 5.0)


def test_a_field_of_an_array_of_records_may_have_subscripts() -> None:
    record = "  record 'R'\n    Real 'z'[2];\n  end 'R';"
    body = """    'R' 'r'[3];
  equation
    'r'.'z'[1] = {time, 2.0 * time, 3.0 * time};
    for 'i' in 1:3 loop
      'r'['i'].'z'[2] = 10.0 * 'i';
    end for;"""
    names = ["r[2].z[1]", "r[3].z[2]"]
    run = es.load_model(text(body, record)).simulate(TIMES, outputs=names)
    np.testing.assert_allclose(run["r[2].z[1]"], 2 * TIMES)
    np.testing.assert_allclose(run["r[3].z[2]"], 30.0)


def test_names_of_elements_may_be_literals() -> None:
    kind = "  type 'Color' = enumeration('Red', 'Green');"
    body = """    constant Real 'map[\\'Color\\'.\\'Red\\']' = 1.5;
    constant Real 'map[\\'Color\\'.\\'Green\\']' = 2.5;
    Real 'v';
  equation
    'v' = 'map[\\'Color\\'.\\'Green\\']' * time;"""
    run = es.load_model(text(body, kind)).simulate(TIMES)
    np.testing.assert_allclose(run["v"], 2.5 * TIMES)


def test_a_partial_derivative_is_the_derivative_whichever_front_end_reads_it() -> None:
    x = 1.0 + TIMES
    for name in ("function_derivative.mo", "function_derivative.bmo"):
        run = es.load_model(FOLDER / name).simulate(TIMES, outputs=["y"])
        expected = 2 * x * np.sin(2 * x) + 2 * x**2 * np.cos(2 * x)
        np.testing.assert_allclose(run["y"], expected, rtol=1e-9)


# --- sources -------------------------------------------------------------------------------------


def test_a_mo_file_that_begins_as_base_modelica_is_read_as_such(tmp_path: Path) -> None:
    path = tmp_path / "Decay.mo"
    path.write_text((FOLDER / "decay.bmo").read_text())
    assert load_flat(path).by_name["k"].origin.file == "Decay.mo"
    assert base_text(FOLDER / "decay.mo") is None


def test_a_text_may_lack_header_and_package(tmp_path: Path) -> None:
    path = tmp_path / "plain.bmo"
    path.write_text("model 'M' Real 'x'; equation 'x' = time; end 'M';")
    np.testing.assert_allclose(es.load_model(path).simulate(TIMES, outputs=["x"])["x"], TIMES)


def test_the_class_is_chosen_by_its_name() -> None:
    both = text("    Real 'x' = 1.0;") + "\nmodel 'Q.N' Real 'y' = 2.0; end 'Q.N';\n"
    assert load_flat(both).name == "M"
    assert load_flat(both, "Q.N").name == "Q.N"
    assert load_flat(both, "N").name == "Q.N"
    with pytest.raises(
        SourceError, match=r"S208: text: no model 'Mm' in the text; did you mean 'M'"
    ):
        load_flat(both, "Mm")
    with pytest.raises(SourceError, match=r"S208: text: the Base Modelica text holds no model"):
        load_flat("//! base 0.1.0\npackage 'P'\nend 'P';\n")


def test_a_missing_file_is_told() -> None:
    with pytest.raises(SourceError, match=r"S001: no such file: nowhere\.bmo"):
        load_flat("nowhere.bmo")


def test_the_second_load_comes_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ESTIMICA_CACHE", str(tmp_path))
    first = load_flat(FOLDER / "decay.bmo")
    monkeypatch.setattr("estimica.source.base_modelica.load.parse", None)
    again = load_flat(FOLDER / "decay.bmo")
    assert again.equations == first.equations


def test_a_study_names_a_base_modelica_file(tmp_path: Path) -> None:
    (tmp_path / "decay.bmo").write_text((FOLDER / "decay.bmo").read_text())
    rows = "\n".join(f"{t},{1.5 * math.exp(-3.0 * t)}" for t in np.linspace(0, 1, 11))
    (tmp_path / "data.csv").write_text(f"t,x\n{rows}\n")
    (tmp_path / "study.toml").write_text(
        '[model]\nsource = "decay.bmo"\n[tune]\nk = 1.0\n'
        '[[case]]\nname = "a"\ndata = "data.csv"\ntime = "t"\noutputs = { x = "x" }\n'
    )
    fit = es.fit(es.read_study(tmp_path / "study.toml"))
    assert fit.parameters.loc["k", "value"] == pytest.approx(3.0, rel=1e-5)


# --- values of parameters ------------------------------------------------------------------------


def test_parameters_may_be_fixed_sizes_included() -> None:
    assert "T[9]" in load_flat(FOLDER / "for_equation.bmo", fix={"n": 9}).by_name
    model = es.load_model(FOLDER / "enumeration.bmo", fix={"kind": 1})
    np.testing.assert_allclose(model.simulate(TIMES)["x"], np.exp(-TIMES), rtol=1e-5)
    started = es.load_model(FOLDER / "decay.bmo", fix={"x.start": 3.0, "k": 1.0})
    np.testing.assert_allclose(started.simulate(TIMES)["x"], 3 * np.exp(-TIMES), rtol=1e-5)


def test_values_that_openmodelica_has_built_in_cannot_be_changed() -> None:
    body = """    parameter Real 'w' = 1.0 annotation(Evaluate = true);
    parameter Real 'unused' = 2.0;
    Real 'x' = 'w' * time;"""
    built_in = "OpenModelica has built its value into the equations"
    system = load_flat(text(body))
    assert system.by_name["w"].evaluated == built_in
    assert system.by_name["unused"].evaluated.startswith("no equation uses it")
    with pytest.raises(SourceError, match=rf"S210: fix: 'w' cannot be changed .*{built_in}"):
        load_flat(text(body), fix={"w": 3.0})
    with pytest.raises(SourceError, match="S021: fix, class M: no parameter 'v'"):
        load_flat(text(body), fix={"v": 3.0})


# --- mistakes ------------------------------------------------------------------------------------

MISTAKES = {
    "a word too many": (
        "    Real 'x';\n  equation\n    'x' = = 1.0;",
        "S200: text:7:11: expected an expression, found '='",
    ),
    "a quote that is not closed": (
        "    Real 'x;\n  equation\n    x = 1.0;",
        "S200: text:5:10: expected a second ' on this line, which closes a quoted name; found none",
    ),
    "a clocked partition": (
        "    Real 'x';\n  equation\n    'x' = 1.0;\n  partition \"a\"",
        "S202: text:8: clocked partitions are not supported; leave the clocked part out",
    ),
    "an unknown type": (
        "    Rael 'x';",
        "S067: text:5:5: class 'Rael' not found; did you mean 'Real'?",
    ),
    "a name twice": (
        "    Real 'x';\n    Real 'x';",
        "S204: text: 'x' is declared twice; leave one out",
    ),
    "a part of a number": (
        "    Real 'x';\n    Real 'x.y';\n",
        "S204: text: 'x' is a variable; 'x.y' cannot be part of it",
    ),
    "a size that the run decides": (
        "    Real 'n' = time;\n    Real 'x'['n'];",
        "U001: size ''n'' (text:6:14): a size, range, subscript or branch that is known only during",
    ),
    "a size without a value": (
        "    Real 'x'[:];",
        "S068: text:5:10: the size of 'x' is not known: it is declared with ':' and has no value of",
    ),
    "a size beyond reason": (
        "    Real 'x'[100000, 100000];",
        "U004: 'x' has 10000000000 elements, the model 10000000000 variables or more; at most 200000",
    ),
    "subscripts that are not numbers": (
        "    Real 'x[i]';",
        "S206: text: the subscripts in the name 'x[i]' are not numbers",
    ),
    "a guess of nothing": (
        "    parameter Real 'p'(fixed = false);\n    parameter equation guess('q') = 1.0;",
        "S082: text:6:37: class M.M has no 'q' that could be modified",
    ),
    "an unknown name": (
        "    Real 'x';\n  equation\n    'x' = 'y';",
        "S031: text:7:11: nothing is called 'y'",
    ),
    "an unknown function": (
        "    Real 'x';\n  equation\n    'x' = 'f'(1.0);",
        "S031: text:7:11: nothing is called 'f'",
    ),
    "sizes that differ": (
        "    Real 'x'[2];\n  equation\n    'x' = {1.0, 2.0, 3.0};",
        "S012: equation ''x' = {1.0, 2.0, 3.0}' (text:7:5): the sides have the sizes (2,) and (3,)",
    ),
    "arguments that do not fit": (
        "    Real 'x';\n  equation\n    'x' = transpose(1.0);",
        "S012: equation ''x' = transpose(1.0)' (text:7:5): transpose() of a value that is not a matrix",
    ),
    "an equation that says nothing": (
        "    Real 'x';\n  equation\n    'x';",
        "S200: text:7:8: expected '=', found ';'",
    ),
}


@pytest.mark.parametrize(("body", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told_with_its_place(body: str, message: str) -> None:
    with pytest.raises((SourceError, UnsupportedError)) as caught:
        load_flat(text(body))
    assert str(caught.value).startswith(message)


def test_a_class_that_is_closed_by_another_name_is_told() -> None:
    with pytest.raises(SourceError, match=r"S200: text:2:11: expected 'end 'a'' for the model 'a'"):
        load_flat("//! base 0.1.0\nmodel 'a' end 'b';\n")


def test_a_text_that_ends_too_early_says_where() -> None:
    whole = (FOLDER / "decay.bmo").read_text()
    with pytest.raises(SourceError, match=r"S200: text:\d+:\d+: expected 'end 'Decay';' for this"):
        load_flat(whole[: whole.index("end 'Decay'")])


def test_an_expression_without_end_is_refused_clearly() -> None:
    body = f"    Real 'x';\n  equation\n    'x' = {'sin(' * 3000}time{')' * 3000};"
    with pytest.raises(
        SourceError, match=r"S045: text:7:\d+: brackets and classes are nested more than"
    ):
        load_flat(text(body))


def test_a_library_in_c_is_refused_with_its_name() -> None:
    function = (
        "  function 'f'\n    input Real 'x';\n    output Real 'y';\n"
        "  external \"C\" 'y' = my_law('x');\n  end 'f';"
    )
    with pytest.raises(
        UnsupportedError, match=r"U003: .*the function 'M.f' is external \(it calls"
    ):
        load_flat(text("    Real 'x' = 'f'(time);", function))


@pytest.mark.parametrize("seed", range(4))
def test_damaged_texts_give_clear_errors_only(seed: int) -> None:
    chance = random.Random(seed)
    texts = [f.read_text() for f in FILES]
    for _ in range(60):
        damaged = _damaged(chance, chance.choice(texts))
        with contextlib.suppress(EstimicaError):
            base_modelica_system(damaged, "damaged.bmo")


def _damaged(chance: random.Random, whole: str) -> str:
    at = chance.randrange(len(whole))
    match chance.randrange(4):
        case 0:
            return whole[:at]
        case 1:
            return whole[:at] + whole[at + chance.choice((1, 2, 5, 20, 80)) :]
        case 2:
            return whole[:at] + chance.choice("'\"(){}[];,=.:-@\\é0") + whole[at:]
        case _:
            lines = whole.splitlines()
            del lines[chance.randrange(len(lines))]
            return "\n".join(lines)
