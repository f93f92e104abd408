"""What is read of an FMU before any of its code runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fmus.build import builder, built

import estimica as es
from estimica.base.errors import ModelError
from estimica.simulate.fmu.archive import FmuArchive, unpack_fmu
from estimica.simulate.fmu.description import FmuDescription, quantities_of, read_description

pytest.importorskip("fmpy")
pytestmark = pytest.mark.skipif(not builder.compiler(), reason="no C compiler")


@pytest.mark.parametrize("fmi", [2, 3])
def test_room_shows_its_parameters_with_units_bounds_and_values(fmi: int) -> None:
    model = es.load_model(built("rcThermal", fmi=fmi))
    wall = model.parameters.loc["wall.R"]
    assert wall["unit"] == "K/W"
    assert wall["tunable"]
    assert wall["min"] > 0
    assert wall["value"] > 0
    assert set(model.inputs.index) == {"T_out", "P_heat", "sun"}
    assert list(model.output_names())[:2] == ["T_room", "T_wall"]
    assert len(model.states) == 2


_XML = """<?xml version="1.0"?>
<fmiModelDescription fmiVersion="2.0" modelName="Odd" guid="{1}" numberOfEventIndicators="0">
<ModelExchange modelIdentifier="Odd"/>
<TypeDefinitions><SimpleType name="R"><Real unit="Ohm" min="0" nominal="100"/></SimpleType>
</TypeDefinitions>
<ModelVariables>
<ScalarVariable name="R" valueReference="1" causality="parameter" variability="fixed">
 <Real start="5" declaredType="R"/></ScalarVariable>
<ScalarVariable name="G" valueReference="2" causality="calculatedParameter" variability="fixed">
 <Real/></ScalarVariable>
<ScalarVariable name="pi" valueReference="3" variability="constant" initial="exact">
 <Real start="3.14"/></ScalarVariable>
<ScalarVariable name="n" valueReference="4" causality="parameter" variability="fixed">
 <Integer start="2"/></ScalarVariable>
<ScalarVariable name="file" valueReference="5" causality="parameter" variability="fixed">
 <String start="a.txt"/></ScalarVariable>
<ScalarVariable name="inner" valueReference="6" variability="fixed" initial="exact">
 <Real start="1"/></ScalarVariable>
</ModelVariables><ModelStructure/></fmiModelDescription>"""


def _odd(folder: Path) -> FmuDescription:
    (folder / "modelDescription.xml").write_text(_XML)
    return read_description(FmuArchive(folder / "odd.fmu", "", folder))


def test_parameters_that_cannot_be_tuned_say_why(tmp_path: Path) -> None:
    why = {q.name: q.why_not for q in quantities_of(_odd(tmp_path))}
    assert why == {
        "R": "",
        "G": "the FMU calculates it from other parameters",
        "pi": "it is a constant",
        "n": "it is of type Integer",
        "file": "it is String or an array, which is not tuned",
        "inner": "",  # not called a parameter, but fixed and open to be set
    }


def test_a_declared_type_gives_unit_bounds_and_nominal_value(tmp_path: Path) -> None:
    resistance = next(q for q in quantities_of(_odd(tmp_path)) if q.name == "R")
    assert (resistance.unit, resistance.min, resistance.nominal) == ("Ohm", 0.0, 100.0)
    assert resistance.value == 5.0
    assert resistance.tunable


def test_a_name_that_is_not_there_is_told_with_a_likely_one() -> None:
    model = es.load_model(built("vanDerPol", fmi=2))
    with pytest.raises(ModelError, match="has no parameter 'mux'; did you mean 'mu'"):
        model.response([0.0, 1.0], wrt=["mux"])
    with pytest.raises(ModelError, match="has no parameter 'mux'; did you mean 'mu'"):
        es.load_model(built("vanDerPol", fmi=2), fix={"mux": 1.0})
    with pytest.raises(ModelError, match="has no output 'x_ou'; did you mean 'x_out'"):
        model.simulate([0.0, 1.0], outputs=["x_ou"])


def test_an_interface_that_is_not_there_is_told() -> None:
    path = built("vanDerPol", fmi=2, kinds=("me",))
    with pytest.raises(ModelError, match=r"M207: .*offers only Model Exchange, not Co-Simulation"):
        es.load_model(path, interface="cs")
    with pytest.raises(ModelError, match=r"M207: interface 'mee' is none of an FMU"):
        es.load_model(path, interface="mee")  # type: ignore[call-overload]


def test_a_communication_step_is_positive() -> None:
    with pytest.raises(ModelError, match="M208: communication_step -1 is not a positive time"):
        es.load_model(built("vanDerPol", fmi=2), interface="cs", communication_step=-1)


def test_an_old_version_of_fmi_is_told(tmp_path: Path) -> None:
    archive = unpack_fmu(built("vanDerPol", fmi=2))
    text = (archive.folder / "modelDescription.xml").read_text().replace('"2.0"', '"7.0"', 1)
    (tmp_path / "modelDescription.xml").write_text(text)
    other = type(archive)(archive.path, archive.digest, tmp_path)
    with pytest.raises(ModelError, match=r"M204: .* is FMI 7\.0; export it as FMI 2\.0 or 3\.0"):
        read_description(other)


def test_the_same_content_is_unpacked_once(tmp_path: Path) -> None:
    path = built("vanDerPol", fmi=2)
    copy = tmp_path / "copy.fmu"
    copy.write_bytes(path.read_bytes())
    assert unpack_fmu(path).folder == unpack_fmu(copy).folder


def test_both_versions_declare_their_directional_derivatives() -> None:
    for fmi in (2, 3):
        for directional, declared in (("right", True), ("none", False)):
            path = built("vanDerPol", fmi=fmi, directional=directional)
            found = read_description(unpack_fmu(path))
            assert found.interfaces["me"].directional is declared
