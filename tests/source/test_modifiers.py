"""Modifiers and redeclarations in all forms have the values that the specification asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import estimica as es

FORMS = Path(__file__).with_name("modifier_forms")
#: each eighth of the forms runs with the quick tests
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


FORMS_OF_ALL = [*forms("redeclared.txt"), *forms("plain.txt")]


def check(form: Form) -> None:
    model = es.load_model(form.text, "P.M")
    run = model.simulate(np.array([0.0, 1.0]), outputs=list(form.wanted))
    for name, value in form.wanted.items():
        np.testing.assert_allclose(run.value(name)[-1], value, rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("form", FORMS_OF_ALL[::QUICK], ids=lambda f: f.name)
def test_a_form_has_its_value(form):
    check(form)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS_OF_ALL, ids=lambda f: f.name)
def test_every_form_has_its_value(form):
    check(form)


PARTS = """
package P
  model Law parameter Real a = 1; Real y = a; end Law;
  model Host replaceable model L = Law; L l; end Host;
  model Changed Host h(redeclare model L = Law(a = 5)); end Changed;
  model Plain Host h; end Plain;
  model Both Changed c; Plain p; end Both;
end P;
"""


def test_a_redeclaration_changes_nothing_elsewhere():
    run = es.load_model(PARTS, "P.Both").simulate([0.0, 1.0], outputs=["c.h.l.y", "p.h.l.y"])
    assert run.value("c.h.l.y")[-1] == pytest.approx(5.0)
    assert run.value("p.h.l.y")[-1] == pytest.approx(1.0)


def test_a_redeclaration_across_the_files_of_a_package(tmp_path):
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
    run = es.load_model(package, "Plant.Top").simulate([0.0, 1.0], outputs=["h.l.y"])
    assert run.value("h.l.y")[-1] == pytest.approx(5.0)
    (package / "Wrong.mo").write_text(
        "within Plant;\nmodel Wrong\n\n  Host h(redeclare model L = Law(aa = 5));\nend Wrong;\n"
    )
    with pytest.raises(es.SourceError, match=r"Wrong\.mo:4:\d+: class Plant\.Law has no 'aa' that"):
        es.load_model(package, "Plant.Wrong")


def test_what_is_final_or_not_there_cannot_be_modified():
    text = "model A final parameter Real k = 1; parameter Real m = 2; end A;\nmodel M\n  A a({});\nend M;"
    with pytest.raises(es.SourceError, match=r"S063: text:3:7: 'k' is declared final"):
        es.load_model(text.format("k = 3"))
    with pytest.raises(es.SourceError, match=r"S082: text:3:7: .*'mm'.*did you mean 'm'"):
        es.load_model(text.format("mm = 3"))
