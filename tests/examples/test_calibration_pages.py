"""The pages of the examples show the files as they are, and numbers that the fits still give."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.examples.test_calibration_examples import EXAMPLES, ROOT, lab, tanks

import estimica as es

__all__ = ["lab", "tanks"]  # fixtures

PAGES = sorted((ROOT / "docs" / "examples").glob("*.md"))
#: the tables of a page: study file, where it lies
MADE = [
    ("nonlinear-circuit", "nonlinear_circuit"),
    ("dead-zone-circuit", "dead_zone_circuit"),
    ("drum-boiler", "boiler"),
    ("furuta-pendulum", "furuta_pendulum"),
    ("furuta-pendulum", "arm"),
    ("compressor", "compressor"),
    ("resistor", "resistor"),
    ("condenser", "condenser"),
]


def text_of(page: str) -> str:
    return (ROOT / "docs" / "examples" / f"{page}.md").read_text(encoding="utf-8")


def blocks(page: Path, language: str) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def cells(text: str, study: str) -> list[list[str]]:
    """The rows of the tables below `$ estimica fit STUDY.toml`."""
    found = re.search(rf"^\$ estimica fit {study}\.toml\n(.*?)^```", text, re.M | re.S)
    assert found, study
    rows = [line for line in found[1].splitlines() if line.startswith("│")]
    return [[c.strip() for c in row.strip("│").split("│")] for row in rows]


def unit_of_last_digit(number: str) -> float:
    mantissa, _, exponent = number.partition("e")
    digits = len(mantissa.partition(".")[2])
    return 10.0 ** (int(exponent or 0) - digits)


def agree(page: str, study: str, fit: es.Fit) -> None:
    rows = {r[0]: r for r in cells(text_of(page), study)}
    unknowns = [u for u in fit.unknowns.items if u.kind == "tuner"]
    for k, unknown in enumerate(unknowns):
        value, error = rows[unknown.name][1:3]
        wanted, spread = float(fit.values[k]), float(fit.accuracy.stderr[k])
        if not error:  # not determined: anything along the valley
            assert not fit.accuracy.identifiable[k]
            continue
        if fit.cost < 1e-9:  # without noise the error is rounding alone
            assert float(value) == pytest.approx(wanted, rel=1e-6)
            continue
        near = unit_of_last_digit(value) + 0.02 * spread
        assert abs(float(value) - wanted) <= near, unknown.name
        assert float(error) == pytest.approx(spread, rel=0.02), unknown.name
    shown = [r for r in cells(text_of(page), study) if r[1] in ("calibrate", "validate")]
    assert len(shown) == sum(len(c.outputs) for c in fit.cases)
    if fit.cost > 1e-9:
        for case, _, output, samples, percent, rmse, *_ in shown:
            compared = fit.case(case)[output]
            assert int(samples) == len(compared.time)
            assert float(percent) == pytest.approx(compared.fit_percent, abs=0.02)
            assert float(rmse) == pytest.approx(compared.rmse, rel=2e-3)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
@pytest.mark.parametrize(
    ("language", "end"), [("toml", "toml"), ("python", "py"), ("modelica", "mo")]
)
def test_blocks_of_a_page_are_files_of_the_examples(page, language, end):
    files = [p.read_text(encoding="utf-8") for p in EXAMPLES.glob(f"*/*.{end}")]
    for block in blocks(page, language):
        assert block in files, block[:80]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_what_a_page_points_to_is_there_and_the_site_lists_it(page):
    prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)#:]+)\)", prose):
        assert (page.parent / target).exists(), target
    assert f"examples/{page.name}" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize(("page", "study"), MADE)
def test_tables_of_a_page_are_what_the_fit_gives(page, study):
    folder = page.replace("-", "_")
    agree(page, study, es.fit(es.read_study(EXAMPLES / folder / f"{study}.toml")))


@pytest.mark.parametrize("study", ["plain", "overflow"])
def test_tables_of_the_tanks_are_what_the_fit_gives(study, tanks):
    agree("cascaded-tanks", study, es.fit(es.read_study(tanks / f"{study}.toml")))


@pytest.mark.parametrize("study", ["temperature_lab", "relative"])
def test_tables_of_the_lab_are_what_the_fit_gives(study, lab):
    agree("temperature-lab", study, es.fit(es.read_study(lab / f"{study}.toml")))


def test_models_of_the_tanks_rank_as_the_page_says(tanks):
    text = text_of("cascaded-tanks")
    plain = es.read_study(tanks / "plain.toml")
    full = es.read_study(tanks / "overflow.toml")
    for row, study, without in (
        ("plain", plain, ()),
        ("with rims", full, ("offset", "caught")),
        ("with rims and offset", full, ("caught",)),
        ("with rims, offset and `caught`", full, ()),
    ):
        fit = es.fit(study.with_(tuners=[t for t in study.tuners if t.name not in without]))
        reached = [fit.case(name)["y"].rmse for name in ("estimation", "validation")]
        assert f"| {row} | {reached[0]:.3f} V | {reached[1]:.3f} V |" in text
