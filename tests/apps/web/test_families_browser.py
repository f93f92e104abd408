"""Sweeps and Monte Carlo in the browser: families of curves, coloured by whether demands hold."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from tests.apps.web.browser import IN_BROWSER, Address
from tests.apps.web.test_static_browser import picture

pytestmark = IN_BROWSER
MODEL = """
model Mass "A mass that a controller brings to 1"
  parameter Real d = 1 "damping";
  output Real x(start = 0, fixed = true);
  Real v(start = 0, fixed = true);
equation
  der(x) = v;
  der(v) = (1 - x) - d*v;
end Mass;
"""
#: exp(-pi z/sqrt(1 - z²)) with d = 2 z: 0.53, 0.25, 0.095, 0.028, 0.0046
STUDY = """
[model]
source = "Mass.mo"

[tune]
d = { start = 1, min = 0.1, max = 4 }

[[case]]
name = "step"
stop = 15

[[criterion]]
name = "overshoot"
kind = "overshoot"
of = "x"
reference = 1
demand = 0.15

[sweep]
vary = { d = [0.4, 0.8, 1.2, 1.5, 1.72] }

[montecarlo]
draw = { d = { kind = "uniform", min = 0.4, max = 1.7 } }
samples = 30
"""
#: names, colours and lengths of the curves of all figures that were drawn
CURVES = """() => [...document.querySelectorAll('.est-figure[data-drawn]')].flatMap(
  f => (f._fullData || []).map(c => ({name: c.name, colour: (c.line || {}).color || '',
                                 y: Array.from(c.y || [])})))"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("families")
    (folder / "Mass.mo").write_text(MODEL)
    (folder / "mass.toml").write_text(STUDY)
    return folder


def family(page: Page, address: Address, button: str) -> dict[str, list[dict[str, Any]]]:
    """Start a command of the study from its page; the curves of its result by their names."""
    page.goto(f"{address}/study/mass.toml")
    page.get_by_role("button", name=button, exact=True).first.click()
    page.wait_for_url(re.compile("/runs/"))
    expect(page.get_by_text("done", exact=True)).to_be_visible()
    page.get_by_text("Families of curves", exact=True).first.scroll_into_view_if_needed()
    page.wait_for_function(
        f"() => ({CURVES})().some(c => c.name === 'demands do not hold')", timeout=60_000
    )
    found: dict[str, list[dict[str, Any]]] = {}
    for curve in page.evaluate(CURVES):
        found.setdefault(str(curve["name"]), []).append(curve)
    return found


def test_a_sweep_draws_runs_by_whether_their_demands_hold(page: Page, address: Address) -> None:
    curves = family(page, address, "Sweep")
    picture(page, "sweep_family")
    hold, not_ = curves["demands hold"], curves["demands do not hold"]
    assert (len(hold), len(not_)) == (3, 2)
    for one in hold:
        assert max(one["y"]) < 1.15
    for one in not_:
        assert max(one["y"]) > 1.15
    colours = {c["colour"] for c in hold}, {c["colour"] for c in not_}
    assert all(len(c) == 1 for c in colours)
    assert colours[0] != colours[1]
    highest = sorted(max(c["y"]) for c in (*hold, *not_))
    z = np.array([1.72, 1.5, 1.2, 0.8, 0.4]) / 2
    np.testing.assert_allclose(highest, 1 + np.exp(-np.pi * z / np.sqrt(1 - z**2)), atol=5e-3)
    assert "median" in curves


def test_a_monte_carlo_draws_its_band_and_both_colours(page: Page, address: Address) -> None:
    curves = family(page, address, "Monte Carlo")
    expect(page.get_by_text("Monte Carlo of mass", exact=True)).to_be_visible()
    picture(page, "montecarlo_family")
    hold, not_ = curves["demands hold"], curves["demands do not hold"]
    assert len(hold) + len(not_) == 30
    assert all(max(c["y"]) < 1.15 for c in hold)
    assert all(max(c["y"]) > 1.15 for c in not_)
    assert any("%" in name for name in curves), list(curves)
