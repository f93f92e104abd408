"""Functions as models: what becomes an input, a parameter and an output."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from estimica.base.errors import SourceError
from estimica.flat.system import Variability
from estimica.source.load import load_flat

LAWS = """package Laws "correlations"
  type Ratio = Real(unit="1");
  record Pars
    Real a0 = 0.9; Real a1 = 0;
  end Pars;
  partial function Efficiency
    input Real n(unit="Hz") "speed";
    input Ratio pi "pressure ratio";
    output Real lambda "efficiency";
  end Efficiency;
  function efficiency "volumetric efficiency"
    extends Efficiency;
    input Real pi0 = 10 "largest ratio", a0;
    input Real b[2] = {1, 2};
  protected
    Real share;
  algorithm
    share := (pi0 - pi)/(pi0 - 1);
    lambda := share^2*(a0 + b[1]*n + b[2]*n^2);
  end efficiency;
  function both
    input Real n; input Pars ce;
    output Real once; output Real twice;
  algorithm
    once := ce.a0 + ce.a1*n;
    twice := 2*once;
  end both;
  function silent
    input Real x;
  algorithm
  end silent;
end Laws;
"""


def _roles(system):
    return {
        v.name: v.causality if v.variability is not Variability.PARAMETER else "parameter"
        for v in system.variables
    }


def test_inputs_that_are_not_named_become_parameters():
    system = load_flat(LAWS, "Laws.efficiency", inputs=["n", "pi"])
    assert _roles(system) == {
        "n": "input",
        "pi": "input",
        "pi0": "parameter",
        "a0": "parameter",
        "b[1]": "parameter",
        "b[2]": "parameter",
        "lambda": "output",
    }
    assert system.of_function
    assert system.name == "Laws.efficiency"


def test_without_names_what_has_a_default_is_a_parameter():
    roles = _roles(load_flat(LAWS, "Laws.efficiency"))
    assert [n for n, r in roles.items() if r == "input"] == ["n", "pi", "a0"]


def test_units_and_descriptions_of_inherited_arguments_are_kept():
    system = load_flat(LAWS, "Laws.efficiency", inputs=["n", "pi"])
    assert system.by_name["n"].unit == "Hz"
    assert system.by_name["pi"].unit == "1"
    assert system.by_name["pi0"].description == "largest ratio"


def test_a_parameter_without_a_value_is_not_a_number():
    system = load_flat(LAWS, "Laws.efficiency", inputs=["n", "pi"])
    assert math.isnan(system.by_name["a0"].binding.value)


def test_records_become_parameters_and_several_outputs_are_computed():
    system = load_flat(LAWS, "Laws.both", inputs=["n"])
    roles = _roles(system)
    assert roles["ce.a0"] == roles["ce.a1"] == "parameter"
    assert [n for n, r in roles.items() if r == "output"] == ["once", "twice"]


def test_a_function_of_a_file_is_found(tmp_path: Path):
    path = tmp_path / "Laws.mo"
    path.write_text(LAWS)
    assert load_flat(path, "efficiency", inputs=["n"], cache=False).name == "Laws.efficiency"


def test_an_input_that_the_function_does_not_have_is_told():
    with pytest.raises(SourceError, match=r"S051: function 'Laws.efficiency' has no input 'pii'"):
        load_flat(LAWS, "Laws.efficiency", inputs=["pii"])


def test_a_function_without_output_is_refused():
    with pytest.raises(SourceError, match=r"S050: function 'Laws.silent' has no output"):
        load_flat(LAWS, "Laws.silent")


def test_a_function_that_extends_another_with_values_has_these_defaults(tmp_path: Path):
    (tmp_path / "Laws.mo").write_text(LAWS)
    fitted = "function Fitted extends Laws.efficiency(pi0 = 8.5, a0 = 0.9, b = {3, 4}); end Fitted;"
    system = load_flat(fitted, "Fitted", libraries=[tmp_path], inputs=["n", "pi"], cache=False)
    values = {v.name: v.binding.value for v in system.variables if v.binding is not None}
    assert values == {"pi0": 8.5, "a0": 0.9, "b[1]": 3.0, "b[2]": 4.0}
    assert system.by_name["pi"].unit == "1"


def test_a_function_of_a_large_library_is_called_by_its_full_name(tmp_path):
    folder = tmp_path / "Large"
    folder.mkdir()
    (folder / "package.mo").write_text("package Large\n  type Ratio = Real;\nend Large;\n")
    (folder / "square.mo").write_text(
        'within Large;\nfunction square "x times itself"\n  input Ratio x; input Real k = 2;\n'
        "  output Real y;\nalgorithm\n  y := k*x^2;\nend square;\n"
    )
    system = load_flat("Large.square", libraries=[tmp_path], cache=False)
    assert _roles(system) == {"x": "input", "k": "parameter", "y": "output"}
    assert system.name == "Large.square"
