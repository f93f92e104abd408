"""The classes of a file by name, and their experiments."""

from __future__ import annotations

import pytest

from estimica.flat.system import Experiment
from estimica.source.syntax import tree
from estimica.source.syntax.contents import class_of, classes_of, experiment_of, models_of
from estimica.source.syntax.file import parse_file

TEXT = """
within A;
package P "outer"
  partial model Q end Q;
  model M "inner"
    block B annotation(experiment(StartTime = -1, StopTime = 2 * 3600, Tolerance = 1e-6)); end B;
    Real x = end_;
    annotation(Icon(x = 1), experiment(StopTime = +2.5 "s", Interval = p));
  end M;
  type T = Real;
  model 'a.b' end 'a.b';
end P;
model N = P.M;
"""


def test_names_of_classes() -> None:
    file = parse_file(tree.Source(TEXT))
    names = ["P", "P.Q", "P.M", "P.M.B", "P.T", "P.'a.b'", "N"]
    assert [name for name, _ in classes_of(file)] == names
    assert models_of(file) == ["P.M", "P.M.B", "P.'a.b'", "N"]
    for name, definition in classes_of(file):
        assert class_of(file, name) is definition
    found = class_of(file, "P.M")
    assert found is not None
    assert found.description == "inner"
    assert class_of(file, "P.M.Nothing") is None
    assert class_of(file, "P.T.Nothing") is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("P.M", Experiment(stop=2.5)),
        ("P.M.B", Experiment(start=-1.0, stop=7200.0, tolerance=1e-6)),
        ("P.Q", Experiment()),
        ("N", Experiment()),
    ],
)
def test_experiments(name: str, expected: Experiment) -> None:
    definition = class_of(parse_file(tree.Source(TEXT)), name)
    assert definition is not None
    assert experiment_of(definition) == expected


def test_a_class_is_found_although_another_cannot_be_read() -> None:
    file = parse_file(tree.Source("package P model A x y z; end A; model B end B; end P;"))
    assert class_of(file, "P.B") is not None
