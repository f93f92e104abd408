"""Frequency cases: what may stand in them, how they are read, checked and proposed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.study.frequency_data import PARTS, G, case

import estimica as es
from estimica.base.errors import EstimicaError
from estimica.study.check.run import check, check_file
from estimica.study.draft.columns import Table
from estimica.study.draft.run import draft
from estimica.study.record.samples import record
from estimica.study.tables.schema import study_schema


def test_samples_are_real_and_imaginary_parts_in_rising_order_of_the_frequency() -> None:
    found = record(case(), inputs=["u"])
    (measured,) = found.outputs
    assert measured.name == "y/u"
    assert measured.time.tolist() == [1, 1, 10, 10, 100, 100]
    ordered = G[[1, 2, 0]]
    assert measured.value[::2] == pytest.approx(ordered.real)
    assert measured.value[1::2] == pytest.approx(ordered.imag)
    assert measured.transfer is not None
    assert measured.transfer.omega == pytest.approx(2 * np.pi * np.array([1, 10, 100]))
    assert measured.rms == pytest.approx(float(np.sqrt(np.mean(np.abs(G) ** 2))))
    assert found.n_samples == 6


def test_stretches_are_left_out_by_frequency() -> None:
    found = record(case(from_=5.0, exclude=[(50, 200)]), inputs=["u"])
    assert found.outputs[0].time.tolist() == [10, 10]


def test_units_of_the_frequency_are_converted(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("f [kHz],re,im\n1,1,0\n2,1,0\n")
    parts = {"y": {"real": "re", "imag": "im"}}
    found = record(es.Case("a", path, frequency="f", outputs=parts), inputs=["u"])
    assert found.outputs[0].time.tolist() == [1000, 1000, 2000, 2000]


@pytest.mark.parametrize(
    ("unit", "key", "omega"),
    [
        ("rpm", "frequency", 2 * np.pi / 60),
        ("rev/s", "frequency", 2 * np.pi),
        ("1/min", "frequency", 2 * np.pi / 60),
        ("MHz", "frequency", 2e6 * np.pi),
        ("rad/min", "angular_frequency", 1 / 60),
        ("deg/s", "angular_frequency", np.pi / 180),
        ("krad/s", "angular_frequency", 1e3),
        ("1/s", "angular_frequency", 1.0),
    ],
)
def test_each_unit_of_a_frequency_becomes_rad_per_second(
    tmp_path: Path, unit: str, key: str, omega: float
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"f [{unit}],re,im\n1,1,0\n2,1,0\n")
    parts = {"y": {"real": "re", "imag": "im"}}
    found = record(es.Case("a", path, outputs=parts, **{key: "f"}), inputs=["u"]).outputs[0]
    assert found.transfer is not None
    assert found.transfer.omega == pytest.approx([omega, 2 * omega], rel=1e-12)


def test_a_transfer_can_be_named_by_its_key() -> None:
    found = record(case(outputs={"y/u2": "G", "y/u1": PARTS}), inputs=["u1", "u2"])
    assert [m.name for m in found.outputs] == ["y/u2", "y/u1"]


def test_with_several_inputs_the_excited_one_must_be_named() -> None:
    with pytest.raises(EstimicaError, match="C048"):
        record(case(), inputs=["u1", "u2"])
    assert record(case(inputs={"u2": 1.0}), inputs=["u1", "u2"]).outputs[0].name == "y/u2"


def test_a_right_study_has_no_problems_and_an_idle_tuner_is_found() -> None:
    model = es.state_space(
        [["-1/tau", 0], [0, "-q"]],
        [["K/tau"], [0]],
        [[1, 1]],
        parameters={"K": 1, "tau": 1, "q": 1},
    )
    assert check(es.Study(model, ["K", "tau"], [case()])) == []
    told = check(es.Study(model, ["K", "tau", "q"], [case()]))
    assert [p.code for p in told] == ["T014"]


STUDY = """
[model]
source = "K/(1 + tau*sqrt(s))"
[tune]
K = 1
tau = 1
[[case]]
name = "a"
data = "a.csv"
frequency = "f"
outputs = { y = { real = "re", imag = "im", weighting = "relative" } }
"""


def test_a_study_file_fits_an_expression_in_s(tmp_path: Path) -> None:
    f = np.logspace(-2, 2, 20)
    G = 3 / (1 + 0.5 * np.sqrt(2j * np.pi * f))
    rows = "".join(f"{a},{b.real},{b.imag}\n" for a, b in zip(f, G, strict=True))
    (tmp_path / "a.csv").write_text("f [Hz],re,im\n" + rows)
    path = tmp_path / "a.toml"
    path.write_text(STUDY)
    assert check_file(path) == []
    fit = es.fit(es.read_study(path))
    assert fit.estimates == pytest.approx({"K": 3, "tau": 0.5}, rel=1e-7)
    path.write_text(
        STUDY.replace("frequency", "time").replace(
            '{ real = "re", imag = "im", weighting = "relative" }', '"re"'
        )
    )
    told = check_file(path)
    assert any("is known over frequencies only" in p.message for p in told)


def test_the_schema_has_the_keys_of_a_frequency_case() -> None:
    definitions = study_schema()["$defs"]
    assert {"frequency", "angular_frequency", "operating_point"} <= set(
        definitions["Case"]["properties"]
    )
    assert {"real", "imag", "magnitude", "phase", "weighting", "input"} <= set(
        definitions["ResponseColumns"]["properties"]
    )


@pytest.mark.parametrize(
    ("header", "lines"),
    [
        ("f [Hz],Z", ['frequency = "f"', 'y = { real = "Re(Z)", imag = "Im(Z)" }']),
        (
            "omega,gain [dB],phase [rad]",
            [
                'angular_frequency = "omega"',
                'y = { magnitude = "gain", phase = "phase", magnitude_unit = "dB", '
                'phase_unit = "rad" }',
            ],
        ),
        ("freq,Z_real,Z_imag", ['frequency = "freq"', 'y = { real = "Z_real", imag = "Z_imag" }']),
    ],
)
def test_a_draft_proposes_a_frequency_case(tmp_path: Path, header: str, lines: list[str]) -> None:
    row = "1,1+2j\n2,1-1j\n" if header.endswith("Z") else "1,2,3\n2,2,3\n"
    path = tmp_path / "a.csv"
    path.write_text(f"{header}\n{row}")
    model = es.transfer_function("K/(1 + tau*s)", parameters={"K": 1, "tau": 1})
    text = draft(model, "K/(1 + tau*s)", None, [Table("a.csv", es.read_data(path))]).text
    for line in lines:
        assert line in text.splitlines()
    (tmp_path / "a.toml").write_text(text)
    assert [p for p in check_file(tmp_path / "a.toml") if not p.warning] == []
