"""Finding classes: texts, files, packages, libraries, modifiers, and what goes wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.source.flat_checks import load, parameter_values, solved_for, value_at

import estimica as es
from estimica.base.errors import SourceError
from estimica.flat.expression import is_const
from estimica.source.load import load_flat

PLAIN = """model First
  Real x(start=1);
equation
  der(x) = -x;
end First;

model Second "the second"
  parameter Real k = 2; Real x(start=1);
equation
  der(x) = -k*x;
end Second;
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package in a folder, with a sub-package, a function and an algorithm section."""
    root = tmp_path / "Plant"
    (root / "Parts").mkdir(parents=True)
    (root / "package.mo").write_text(
        'package Plant "a plant"\n  constant Real g = 9.81;\n  annotation(uses());\nend Plant;\n'
    )
    (root / "package.order").write_text("Parts\nWhole\n")
    (root / "Parts" / "package.mo").write_text(
        "within Plant;\npackage Parts\n  function double input Real x; output Real y;\n"
        "  algorithm\n    y := x; while y > 1e9 loop y := 0; break; end while; y := 2*y;\n"
        "  end double;\nend Parts;\n"
    )
    (root / "Parts" / "Fall.mo").write_text(
        "within Plant.Parts;\nmodel Fall\n  Real v(start=0); Real w; Real z;\nequation\n"
        "  der(v) = -g;\nalgorithm\n  w := double(v);\n  z := w + 1;\nend Fall;\n"
    )
    (root / "Whole.mo").write_text(
        'within Plant;\nmodel Whole "all of it"\n  Parts.Fall fall;\n  parameter Real k = 1;\n'
        "  annotation(experiment(StopTime=3));\nend Whole;\n"
    )
    return root


def test_text_without_a_class_name_is_its_last_class() -> None:
    assert load(PLAIN).name == "Second"
    assert load(PLAIN, "First").name == "First"


def test_file(tmp_path: Path) -> None:
    path = tmp_path / "models.mo"
    path.write_text(PLAIN)
    system = load(path, "Second")
    assert system.description == "the second"
    assert system.source == str(path)
    assert system.equations[0].origin.file == "models.mo"
    assert system.equations[0].origin.line == 10


def test_text_with_special_characters_keeps_its_lines() -> None:
    system = load(
        'model M "größer als µ"\n  Real x(start=1) "Länge";\nequation\n  der(x) = -x;\nend M;'
    )
    assert system.description == "größer als µ"
    origin = system.equations[0].origin
    assert (origin.text, origin.line) == ("der(x) = -x", 4)


def test_package_folder(package: Path) -> None:
    system = load(package, "Whole")
    assert system.name == "Plant.Whole"
    assert system.description == "all of it"
    assert system.experiment.stop == 3.0
    assert is_const(solved_for(system, "der(fall.v)"), -9.81)
    assert value_at(system, "fall.z", {"fall.v": 4.0}) == 9.0
    origin = next(e.origin for e in system.equations if "der(v)" in e.origin.text)
    assert (origin.file, origin.line, origin.component) == ("Fall.mo", 5, "fall")


def test_file_inside_a_package(package: Path) -> None:
    assert load(package / "Parts" / "Fall.mo").name == "Plant.Parts.Fall"


def test_folder_inside_a_package(package: Path) -> None:
    assert load(package / "Parts", "Fall").name == "Plant.Parts.Fall"


def test_library_on_modelicapath(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODELICAPATH", str(package.parent))
    assert load("Plant.Whole").name == "Plant.Whole"
    user = "model Mine\n  Plant.Parts.Fall a; parameter Real g = Plant.g;\nend Mine;"
    assert parameter_values(load(user))["g"] == 9.81


def test_library_given_on_load(package: Path) -> None:
    user = "model Mine\n  Plant.Parts.Fall a;\nend Mine;"
    assert "a.v" in load(user, libraries=[package]).by_name
    assert "a.v" in load(user, libraries=[package.parent]).by_name


def test_the_newest_version_of_a_library_is_taken(tmp_path: Path, monkeypatch) -> None:
    for version, k in (("1.9.0", 1), ("1.10.0", 2)):
        root = tmp_path / f"Lib {version}"
        root.mkdir()
        (root / "package.mo").write_text(
            f"package Lib\n model M parameter Real k = {k}; Real x(start=k);\n"
            " equation der(x) = -x; end M;\nend Lib;\n"
        )
    monkeypatch.setenv("MODELICAPATH", str(tmp_path))
    assert parameter_values(load("Lib.M"))["k"] == 2.0


# --- modifiers ---

NESTED = """
package P
  type Mode = enumeration(off, on);
  model Part
    parameter Real k = 1; parameter Real a[2] = {1, 2}; final parameter Real f = 3;
    parameter Mode mode = Mode.off; parameter String s = "no"; Real x(start=k);
  equation
    der(x) = -k*a[2]*x;
  end Part;
  model M "whole"
    Part p; parameter Boolean on = false; parameter Integer n = 2; input Real u; output Real y = p.x;
    parameter Real b = 2*p.k;
  end M;
end P;
"""


def test_modifiers_reach_into_components() -> None:
    system = load(NESTED, "P.M", fix={"p.k": 2.5, "on": True, "n": 3, "p.s": 'a "b"'})
    values = parameter_values(system)
    assert (values["p.k"], values["on"], values["n"], values["b"]) == (2.5, 1.0, 3.0, 5.0)
    assert system.by_name["p.s"].text == 'a "b"'


def test_modifiers_leave_names_causality_and_descriptions_alone() -> None:
    plain, changed = load(NESTED, "P.M"), load(NESTED, "P.M", fix={"p.k": 2})
    assert changed.name == "P.M"
    assert changed.description == "whole"
    assert [v.name for v in changed.variables] == [v.name for v in plain.variables]
    assert [v.causality for v in changed.variables] == [v.causality for v in plain.variables]


def test_enumeration_modifier() -> None:
    system = load(NESTED, "P.M", fix={"p.mode": "P.Mode.on"})
    assert is_const(system.by_name["p.mode"].binding, 2.0)


def test_single_elements_of_arrays() -> None:
    system = load(NESTED, "P.M", fix={"p.a[2]": 7, "p.k": 4})
    values = parameter_values(system)
    assert (values["p.a[1]"], values["p.a[2]"], values["p.k"]) == (1.0, 7.0, 4.0)


@pytest.mark.parametrize(
    ("fix", "message"),
    [
        ({"p.kk": 1}, r"no parameter 'p.kk'; did you mean 'p.k'"),
        ({"k": 1}, r"no parameter 'k'; did you mean 'p.k'"),
        ({"p.f": 1}, r"parameter 'p.f' is final"),
        ({"p.x": 1}, r"'p.x' is not a parameter but continuous"),
        ({"p.a[3]": 1}, r"no parameter 'p.a\[3\]'"),
    ],
)
def test_wrong_modifiers(fix: dict[str, float], message: str) -> None:
    with pytest.raises(SourceError, match=message):
        load(NESTED, "P.M", fix=fix)


def test_an_element_that_shapes_the_model_cannot_be_set_alone() -> None:
    text = """
model M
  parameter Integer n[2] = {2, 3}; Real x;
equation
  x = if n[1] == 2 then 1 else 2;
end M;
"""
    with pytest.raises(SourceError, match=r"'n\[1\]' cannot be set alone"):
        load(text, fix={"n[1]": 4})


# --- what goes wrong ---


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere.mo", "no such file: nowhere.mo"),
        ("K/(1 + tau*S)", r"no such file: K/\(1 \+ tau\*S\); a transfer function is written in s"),
        ("Nothing.Here", "neither a file nor a class of a library: no library 'Nothing'"),
        (
            "model M\n  Real x;\nequation\n  der(x) = -;\nend M;",
            "text:4:13: expected an expression, found ';'",
        ),
        (
            "model M\n  Real x;\nequation\n  der(x) = -y;\nend M;",
            "text:4:13: nothing is called 'y'",
        ),
        ("model M\n  Foo f;\nend M;", "text:2:3: class 'Foo' not found; looked in the text"),
        (
            "model M\n  Real x;\nequation\n  der(x) = g(x);\nend M;",
            "text:4:12: nothing is called 'g'",
        ),
        (
            "model M\n  Real x(begin=1);\nequation\n  x = 1;\nend M;",
            "text:2:10: 'x' is a Real, which has no attribute 'begin'",
        ),
        (
            "model M\n  Real x[2];\nequation\n  x = {1, 2, 3};\nend M;",
            r"line 4\): the sides have the sizes \(2,\) and \(3,\)",
        ),
        (
            "model M\n  Real x;\nequation\n  x = 1;\n",
            "text:1:1: expected 'end M;' for this 'model', found the end of the text",
        ),
        (
            "model M\n  Modelica.Nope x;\nend M;",
            "text:2:3: class 'Modelica.Nope' not found: the small library .* on MODELICAPATH",
        ),
    ],
)
def test_errors_name_the_place(source: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODELICAPATH", "")
    with pytest.raises(SourceError, match=message):
        load(source)


def test_unknown_class_of_a_file() -> None:
    with pytest.raises(SourceError, match="no class 'Secnd' in the text; did you mean 'Second'"):
        load(PLAIN, "Secnd")


def test_unknown_class_of_a_package(package: Path) -> None:
    with pytest.raises(SourceError, match=r"no class 'Plant.Wole'.*did you mean 'Plant.Whole'"):
        load(package, "Wole")


def test_a_package_without_a_class_name_lists_its_models(package: Path) -> None:
    with pytest.raises(SourceError, match=r"say which class to load.*Plant\.Whole"):
        load(package)


def test_folder_that_is_no_package(tmp_path: Path) -> None:
    (tmp_path / "a.mo").write_text(PLAIN)
    with pytest.raises(SourceError, match=r"no package\.mo; it holds a\.mo"):
        load(tmp_path)


# --- the cache ---


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("ESTIMICA_CACHE", str(folder))
    return folder


def entries(cache: Path) -> list[Path]:
    return sorted((cache / "flat").glob("*.json"))


def test_second_load_comes_from_the_cache(cache: Path, monkeypatch) -> None:
    first = load_flat(PLAIN)
    monkeypatch.setattr("estimica.source.front_end.flattened", None)
    assert load_flat(PLAIN) == first
    assert len(entries(cache)) == 1


def test_cache_depends_on_text_class_and_modifiers(cache: Path) -> None:
    load_flat(PLAIN)
    load_flat(PLAIN, "First")
    load_flat(PLAIN, fix={"k": 3})
    load_flat(PLAIN.replace("-k*x", "-2*k*x"))
    assert len(entries(cache)) == 4


def test_cache_depends_on_the_files_of_a_package(cache: Path, package: Path) -> None:
    assert parameter_values(load_flat(package, "Whole"))["k"] == 1.0
    whole = package / "Whole.mo"
    whole.write_text(whole.read_text().replace("k = 1", "k = 5"))
    assert parameter_values(load_flat(package, "Whole"))["k"] == 5.0


def test_a_damaged_entry_is_made_again(cache: Path) -> None:
    first = load_flat(PLAIN)
    (entry,) = entries(cache)
    for damage in ("", "{", '{"format": 99}', entry.read_text()[:-20], "[]"):
        entry.write_text(damage)
        assert load_flat(PLAIN) == first


def test_without_a_writable_cache_loading_works(tmp_path: Path, monkeypatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("ESTIMICA_CACHE", str(blocked / "below"))
    assert load_flat(PLAIN).name == "Second"


def test_old_entries_are_dropped(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("estimica.source.cache.MAX_ENTRIES", 3)
    for k in range(6):
        load_flat(PLAIN.replace("k = 2", f"k = {k}"))
    assert len(entries(cache)) == 3


def test_a_package_with_several_models_asks_which(tmp_path: Path) -> None:
    path = tmp_path / "P.mo"
    path.write_text(
        "package P\n model A Real x; equation x = 1; end A;\n"
        " model B Real x; equation x = 2; end B;\nend P;\n",
        encoding="utf-8",
    )
    with pytest.raises(SourceError, match=r"several models; name one of P\.A, P\.B"):
        load_flat(path)
    assert load_flat(path, "P.A").name == "P.A"


def test_a_file_finds_classes_in_the_files_beside_it(tmp_path):
    (tmp_path / "Fitted.mo").write_text("model Fitted extends Plant(k = 2); end Fitted;")
    (tmp_path / "Plant.mo").write_text(
        "model Plant parameter Real k = 1; Gain gain(k = k); Real y = gain.k; end Plant;"
    )
    (tmp_path / "Gain.mo").write_text("model Gain parameter Real k = 1; end Gain;")
    (tmp_path / "Unrelated.mo").write_text("model Unrelated")  # broken, and nobody names it
    fitted = tmp_path / "Fitted.mo"

    def value() -> float:
        return float(es.load_model(fitted).simulate([0.0, 1.0], outputs=["y"]).value("y")[0])

    assert value() == 2
    (tmp_path / "Plant.mo").write_text(
        "model Plant parameter Real k = 1; Gain gain(k = k); Real y = 10*gain.k; end Plant;"
    )
    assert value() == 20  # nothing of before is taken from the cache


def test_the_classes_of_a_file_hide_those_beside_it(tmp_path):
    (tmp_path / "A.mo").write_text("model B Real y = 1; end B; model A extends B; end A;")
    (tmp_path / "B.mo").write_text("model B Real y = 2; end B;")
    model = es.load_model(tmp_path / "A.mo", "A")
    assert float(model.simulate([0.0, 1.0], outputs=["y"]).value("y")[0]) == 1


def test_a_broken_file_beside_is_told_where_it_is_needed(tmp_path):
    (tmp_path / "A.mo").write_text("model A extends Broken; end A;")
    (tmp_path / "Broken.mo").write_text("model Broken")
    with pytest.raises(SourceError, match=r"S200.*Broken\.mo:1"):
        es.load_model(tmp_path / "A.mo")


def test_a_broken_file_beside_does_no_harm_where_its_name_is_a_parameter(tmp_path):
    (tmp_path / "A.mo").write_text("model A parameter Real T = 3; Real y = T; end A;")
    (tmp_path / "T.mo").write_text("written half")
    model = es.load_model(tmp_path / "A.mo")
    assert float(model.simulate([0.0, 1.0], outputs=["y"]).value("y")[0]) == 3
