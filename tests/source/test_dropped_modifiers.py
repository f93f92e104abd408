"""Modifiers that the compiler drops are refused by line; those that it heeds have their values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import estimica as es
from estimica.source.rumoca.class_table import ClassTable
from estimica.source.rumoca.declarations import declarations
from estimica.source.rumoca.dropped_modifiers import losses

FORMS = Path(__file__).with_name("modifier_forms")
#: each eighth of the forms that are kept runs with the quick tests
QUICK = 8


@dataclass(frozen=True)
class Form:
    name: str
    text: str
    wanted: dict[str, float]


def forms(file: str) -> list[Form]:
    content = re.sub(r"^#.*\n", "", (FORMS / file).read_text(), flags=re.MULTILINE)
    return [_form(block) for block in content.strip().split("\n\n")]


def _form(block: str) -> Form:
    head, *rest = block.splitlines()
    name, _, values = head.partition(": ")
    said = dict(line.strip().split(" ", 1) for line in rest)
    needed = ["base", *said.get("with", "").split()]
    text = "\n".join(
        [
            "package P",
            *((FORMS / f"{n}.mo").read_text() for n in needed),
            said.get("before", ""),
            "  model M",
            "    Real x(start = 0, fixed = true);",
            f"    {said['model']}",
            "  end M;",
            "end P;",
        ]
    )
    pairs = (v.split(" = ") for v in values.split(", "))
    return Form(name, text, {k: float(v) for k, v in pairs})


DROPPED = forms("dropped.txt")
KEPT = forms("kept.txt")


@pytest.mark.parametrize("form", DROPPED, ids=lambda f: f.name)
def test_a_form_that_is_dropped_is_refused_by_line(form):
    with pytest.raises(es.SourceError) as error:
        es.load_model(form.text, "P.M")
    message = str(error.value)
    assert message.startswith("S033")
    line = int(re.search(r"line (\d+)", message)[1])
    quoted = re.search(r"`(.*?)`: the Modelica compiler", message)[1]
    at_line = " ".join(form.text.splitlines()[line - 1].split())
    assert quoted.split()[0].split("(")[0] in at_line


def check(form: Form) -> None:
    model = es.load_model(form.text, "P.M")
    run = model.simulate(np.array([0.0, 1.0]), outputs=list(form.wanted))
    for name, value in form.wanted.items():
        np.testing.assert_allclose(run.value(name)[-1], value, rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("form", KEPT[::QUICK], ids=lambda f: f.name)
def test_a_form_that_is_kept_has_its_value(form):
    check(form)


@pytest.mark.slow
@pytest.mark.parametrize("form", KEPT, ids=lambda f: f.name)
def test_every_form_that_is_kept_has_its_value(form):
    check(form)


def test_only_what_the_model_uses_is_refused():
    text = """
package P
  model Law parameter Real a = 1; Real y = a; end Law;
  model Host replaceable model L = Law; L l; end Host;
  model Bad Host h(redeclare model L = Law(a = 5)); end Bad;
  model Good Host h; Real x(start = 0, fixed = true); equation der(x) = h.l.y; end Good;
end P;
"""
    good = es.load_model(text, "P.Good").simulate(np.array([0.0, 1.0]))
    assert good.value("x")[-1] == pytest.approx(1.0)
    with pytest.raises(es.SourceError, match=r"line 5\): `redeclare model L = Law\(a = 5\)`"):
        es.load_model(text, "P.Bad")


def test_the_advice_of_the_message_is_right():
    text = """
package P
  model Law parameter Real a = 1; Real y = a; end Law;
  model Host replaceable model L = Law; L l; end Host;
  model M
    model New = Law(a = 5);
    Host h(redeclare model L = New);
    Real x(start = 0, fixed = true);
  equation
    der(x) = h.l.y;
  end M;
end P;
"""
    run = es.load_model(text, "P.M").simulate(np.array([0.0, 1.0]))
    assert run.value("x")[-1] == pytest.approx(5.0)


def test_a_package_in_a_folder_names_the_file_and_its_line(tmp_path):
    package = tmp_path / "Plant"
    package.mkdir()
    (package / "package.mo").write_text("package Plant\nend Plant;\n")
    (package / "Law.mo").write_text(
        "within Plant;\nmodel Law parameter Real a = 1; Real y = a; end Law;\n"
    )
    (package / "Host.mo").write_text(
        "within Plant;\nmodel Host\n  replaceable model L = Law;\n  L l;\nend Host;\n"
    )
    (package / "Top.mo").write_text(
        "within Plant;\nmodel Top\n\n  Host h(redeclare model L = Law(a = 5));\nend Top;\n"
    )
    with pytest.raises(es.SourceError, match=r"Top\.mo, line 4\)"):
        es.load_model(package, "Plant.Top")


def test_a_library_class_is_refused_with_its_file_and_a_slight_loss_is_a_note(tmp_path):
    # a library of more files than are read as one text stays with the compiler
    library = tmp_path / "Big"
    library.mkdir()
    (library / "package.mo").write_text("package Big\nend Big;\n")
    for k in range(320):
        (library / f"F{k}.mo").write_text(f"within Big;\nmodel F{k}\n  Real y = {k};\nend F{k};\n")
    (library / "R.mo").write_text(
        "within Big;\nrecord R\n  parameter Real a = 1;\n  parameter Real b = 2;\nend R;\n"
    )
    (library / "Part.mo").write_text(
        "within Big;\nmodel Part\n  parameter R r(a = 5);\n  Real y = r.a;\nend Part;\n"
    )
    (library / "Whole.mo").write_text(
        "within Big;\nmodel Whole\n  parameter R q;\n  Part p(r = q);\n  replaceable model L = F1;\n"
        "  L l;\nend Whole;\n"
    )
    (library / "Law.mo").write_text("within Big;\nmodel Law = F2(y(start = 1));\n")
    (library / "Bad.mo").write_text(
        "within Big;\nmodel Bad\n  Whole w(redeclare model L = F2(y(min = 0)));\nend Bad;\n"
    )
    table = ClassTable("", [_library(library)])
    found = losses(table, "Big.Bad")
    assert [(loss.scope.name, loss.slight) for loss in found] == [
        ("Big.Bad", False),
        ("Big.Whole", True),
    ]
    with pytest.raises(es.SourceError, match=r"Bad\.mo, line 3\)"):
        es.load_model("Big.Bad", libraries=[tmp_path])
    notes = es.load_model("Big.Whole", libraries=[tmp_path]).notes
    assert any("Whole.mo, line 4" in note and "`r = q`" in note for note in notes)


def _library(root: Path):
    from estimica.source.libraries.search import Library

    return Library(root.name, root)


@pytest.mark.parametrize(
    "text",
    ["model M", "model M end N;", "model M Real x(", "package P model", "x = 1;", "", "model M ="],
)
def test_a_text_that_cannot_be_read_declares_nothing(text):
    assert declarations(text) == ()


def test_a_comment_at_the_end_of_a_text_is_no_code():
    (model,) = declarations("model M\n  Real x;\nend M; // the end\n/* of all */\n")
    assert [c.name for c in model.components] == ["x"]
