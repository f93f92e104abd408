"""SBML models become equations whose solutions are the analytic ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from estimica.base.errors import SourceError, UnsupportedError
from estimica.flat.modelica_text import write_class
from estimica.flat.system import FlatSystem
from estimica.simulate.engine.options import Options
from estimica.simulate.load import load_model
from estimica.simulate.modelica.model import ModelicaModel
from estimica.source.sbml.document import parse_document
from estimica.source.sbml.translate import translate

libsbml = pytest.importorskip("libsbml")
TIGHT = Options(rtol=1e-10, atol=1e-12)
TIMES = np.linspace(0.0, 5.0, 11)


class Sbml:
    """Writes SBML texts in a few lines."""

    def __init__(self) -> None:
        self.document = libsbml.SBMLDocument(3, 2)
        self.model = self.document.createModel("m")

    def _math(self, element: Any, formula: str) -> None:
        node = libsbml.parseL3Formula(formula)
        assert node is not None, libsbml.getLastParseL3Error()
        element.setMath(node)

    def compartment(self, name: str, size: float = 1.0, *, constant: bool = True) -> Sbml:
        c = self.model.createCompartment()
        c.setId(name), c.setSize(size), c.setConstant(constant), c.setSpatialDimensions(3)
        return self

    def species(
        self, name: str, start: float, where: str = "V", *, amount: bool = False,
        boundary: bool = False, as_amount: bool = False,
    ) -> Sbml:  # fmt: skip
        s = self.model.createSpecies()
        s.setId(name), s.setCompartment(where), s.setConstant(False)
        s.setBoundaryCondition(boundary), s.setHasOnlySubstanceUnits(as_amount)
        s.setInitialAmount(start) if amount else s.setInitialConcentration(start)
        return self

    def parameter(self, name: str, value: float | None, *, constant: bool = True) -> Sbml:
        p = self.model.createParameter()
        p.setId(name), p.setConstant(constant)
        if value is not None:
            p.setValue(value)
        return self

    def reaction(
        self, name: str, reactants: Sequence[str], products: Sequence[str], law: str,
        local: Mapping[str, float] | None = None,
    ) -> Sbml:  # fmt: skip
        r = self.model.createReaction()
        r.setId(name), r.setReversible(False)
        for names, make in ((reactants, r.createReactant), (products, r.createProduct)):
            for n in names:
                part = make()
                part.setSpecies(n), part.setStoichiometry(1), part.setConstant(True)
        k = r.createKineticLaw()
        self._math(k, law)
        for n, v in (local or {}).items():
            p = k.createLocalParameter()
            p.setId(n), p.setValue(v)
        return self

    def rule(self, kind: str, variable: str, formula: str) -> Sbml:
        r = getattr(self.model, f"create{kind}Rule")()
        if variable:
            r.setVariable(variable)
        self._math(r, formula)
        return self

    def initial(self, symbol: str, formula: str) -> Sbml:
        a = self.model.createInitialAssignment()
        a.setSymbol(symbol)
        self._math(a, formula)
        return self

    def function(self, name: str, formula: str) -> Sbml:
        f = self.model.createFunctionDefinition()
        f.setId(name)
        self._math(f, formula)
        return self

    def event(
        self, trigger: str, changes: Mapping[str, str], delay: str = "", *, kept: bool = False
    ) -> Sbml:
        e = self.model.createEvent()
        e.setUseValuesFromTriggerTime(kept)
        t = e.createTrigger()
        t.setInitialValue(True), t.setPersistent(True)
        self._math(t, trigger)
        if delay:
            self._math(e.createDelay(), delay)
        for n, formula in changes.items():
            a = e.createEventAssignment()
            a.setVariable(n)
            self._math(a, formula)
        return self

    @property
    def text(self) -> str:
        return str(libsbml.writeSBMLToString(self.document))

    @property
    def flat(self) -> FlatSystem:
        return translate(parse_document(self.text, "m.xml")).flat


def simulated(sbml: Sbml, *names: str, **parameters: float) -> np.ndarray:
    """The outputs, of the flat system and of its Modelica text, which must be the same."""
    flat = sbml.flat
    model = ModelicaModel(flat)
    found = model.simulate(TIMES, parameters=parameters, outputs=names, options=TIGHT).values
    text = load_model(write_class(flat))
    again = text.simulate(TIMES, parameters=parameters, outputs=names, options=TIGHT).values
    np.testing.assert_allclose(found, again, rtol=1e-8, atol=1e-10)
    return np.asarray(found)


def decay(law: str = "V*k*A", **more: Any) -> Sbml:
    return (
        Sbml().compartment("V", 2.0).parameter("k", 0.5).species("A", 3.0)
        .species("B", 1.0).reaction("r", ["A"], ["B"], law, **more)
    )  # fmt: skip


def test_a_reaction_in_a_compartment_changes_concentrations() -> None:
    # the rate is amount per time: dA/dt = -V k A / V
    a, b = simulated(decay(), "A", "B").T
    np.testing.assert_allclose(a, 3 * np.exp(-0.5 * TIMES), rtol=1e-8)
    np.testing.assert_allclose(b, 4 - 3 * np.exp(-0.5 * TIMES), rtol=1e-8)


def test_a_rate_without_the_size_is_divided_by_it() -> None:
    (a,) = simulated(decay("k*A"), "A").T
    np.testing.assert_allclose(a, 3 * np.exp(-0.25 * TIMES), rtol=1e-8)


def test_species_with_substance_units_are_amounts() -> None:
    sbml = Sbml().compartment("V", 2.0).parameter("k", 0.5)
    sbml.species("A", 3.0, as_amount=True).reaction("r", ["A"], [], "k*A")
    (a,) = simulated(sbml, "A").T  # the concentration 3 is the amount 6
    np.testing.assert_allclose(a, 6 * np.exp(-0.5 * TIMES), rtol=1e-8)


def test_an_amount_at_the_start_is_divided_by_the_size() -> None:
    sbml = Sbml().compartment("V", 2.0).species("A", 3.0, amount=True)
    sbml.reaction("r", [], ["A"], "0*A")
    assert simulated(sbml, "A")[0, 0] == pytest.approx(1.5)
    assert simulated(sbml, "A", V=6.0)[0, 0] == pytest.approx(0.5)


def test_a_growing_compartment_dilutes() -> None:
    sbml = Sbml().compartment("V", 1.0, constant=False).species("A", 4.0).species("C", 2.0)
    sbml.rule("Rate", "V", "1").reaction("r", ["A"], [], "0.5*A*V")
    a, c = simulated(sbml, "A", "C").T
    np.testing.assert_allclose(a, 4 * np.exp(-0.5 * TIMES) / (1 + TIMES), rtol=1e-7)
    np.testing.assert_allclose(c, 2 / (1 + TIMES), rtol=1e-8)


def test_boundary_species_are_not_used_up() -> None:
    sbml = Sbml().compartment("V").species("S", 2.0, boundary=True).species("P", 0.0)
    sbml.reaction("r", ["S"], ["P"], "3*S")
    s, p = simulated(sbml, "S", "P").T
    np.testing.assert_allclose(s, 2.0)
    np.testing.assert_allclose(p, 6.0 * TIMES, atol=1e-9)


def test_local_parameters_belong_to_their_reaction() -> None:
    sbml = decay("V*k*A", local={"k": 1.0})
    assert "r_k" in sbml.flat.by_name
    (a,) = simulated(sbml, "A").T
    np.testing.assert_allclose(a, 3 * np.exp(-TIMES), rtol=1e-8)


def test_initial_assignments_follow_parameters_and_rules() -> None:
    sbml = Sbml().compartment("V").parameter("p", 2.0).parameter("q", None)
    sbml.parameter("w", None, constant=False).species("A", 9.0)
    sbml.rule("Assignment", "w", "p + 1").initial("q", "p^2").initial("A", "q*w")
    sbml.reaction("r", ["A"], [], "q*A")
    a, w = simulated(sbml, "A", "w").T
    np.testing.assert_allclose(a, 12 * np.exp(-4 * TIMES), rtol=1e-7, atol=1e-11)
    assert w[0] == 3.0
    (a,) = simulated(sbml, "A", p=1.0).T  # q = 1, w = 2
    np.testing.assert_allclose(a, 2 * np.exp(-TIMES), rtol=1e-7)


def test_functions_are_written_out_also_within_each_other() -> None:
    sbml = Sbml().compartment("V").species("A", 3.0).function("f", "lambda(x, y, x*y)")
    sbml.function("g", "lambda(x, f(x, 0.25) + f(x, 0.25))").reaction("r", ["A"], [], "g(A)")
    (a,) = simulated(sbml, "A").T
    np.testing.assert_allclose(a, 3 * np.exp(-0.5 * TIMES), rtol=1e-8)


def test_a_piecewise_input_switches_exactly_in_time() -> None:
    sbml = Sbml().compartment("V").species("A", 0.0)
    sbml.reaction("r", [], ["A"], "piecewise(0, time < 1.3, 2, time < 3.1, 1)")
    (a,) = simulated(sbml, "A").T
    np.testing.assert_allclose(
        a, 2 * np.clip(TIMES - 1.3, 0, 1.8) + np.maximum(TIMES - 3.1, 0), atol=1e-9
    )


def test_rates_of_variables_can_be_used() -> None:
    sbml = decay().parameter("v", None, constant=False).rule("Assignment", "v", "rateOf(A)")
    a, v = simulated(sbml, "A", "v").T
    np.testing.assert_allclose(v, -0.5 * a, rtol=1e-8)


def test_an_event_sets_species_and_parameters_at_once() -> None:
    # both are set from the values before: A becomes the old p, p the old A
    sbml = Sbml().compartment("V").parameter("p", 7.0, constant=False).species("A", 1.0)
    sbml.reaction("r", [], ["A"], "V*1").event("time >= 2.25", {"A": "p", "p": "A"})
    a, p = simulated(sbml, "A", "p").T
    np.testing.assert_allclose(a, np.where(TIMES < 2.25, 1 + TIMES, 7 + TIMES - 2.25), rtol=1e-8)
    np.testing.assert_allclose(p, np.where(TIMES < 2.25, 7.0, 3.25), rtol=1e-8)


def test_two_events_may_set_one_parameter() -> None:
    sbml = Sbml().compartment("V").parameter("u", 0.0, constant=False).species("A", 0.0)
    sbml.reaction("r", [], ["A"], "u").event("time >= 1", {"u": "1"}).event("time >= 3", {"u": "0"})
    (a,) = simulated(sbml, "A").T
    np.testing.assert_allclose(a, np.clip(TIMES - 1, 0, 2), atol=1e-9)


def test_an_event_on_a_state_and_with_a_delay() -> None:
    sbml = Sbml().compartment("V").species("A", 0.0).parameter("d", 0.5)
    sbml.reaction("r", [], ["A"], "1").event("A > 2", {"A": "A - 2"}, delay="d")
    (a,) = simulated(sbml, "A").T  # triggered at 2, done at 2.5, triggered again at 4, done at 4.5
    expected = TIMES - 2 * (TIMES >= 2.5) - 2 * (TIMES >= 4.5)
    np.testing.assert_allclose(a, expected, atol=1e-8)


def test_an_algebraic_rule_is_solved() -> None:
    sbml = decay().parameter("x", 1.0, constant=False).rule("Algebraic", "", "x^3 + x - A")
    # x has no rule of its own: the algebraic one determines it
    flat = sbml.flat
    assert flat.by_name["x"].variability == "continuous"
    a, x = np.asarray(ModelicaModel(flat).simulate(TIMES, outputs=["A", "x"]).values).T
    np.testing.assert_allclose(x**3 + x, a, rtol=1e-6)


def test_what_is_wrong_is_named() -> None:
    without_law = Sbml().compartment("V").species("A", 1.0)
    reaction = without_law.model.createReaction()
    reaction.setId("r"), reaction.setReversible(False)
    with pytest.raises(SourceError, match=r"S309: reaction 'r' has no kinetic law"):
        _ = without_law.flat
    with pytest.raises(SourceError, match=r"S307: the start values of A → B → A depend"):
        _ = decay().initial("A", "B").initial("B", "A").flat
    with pytest.raises(UnsupportedError, match=r"U061: .*piecewise without a last value"):
        _ = decay("piecewise(1, A > 2)").flat
    with pytest.raises(UnsupportedError, match=r"U060: .*'delay' is not supported"):
        _ = decay("delay(A, 1)").flat
    with pytest.raises(UnsupportedError, match=r"U064: .*keeps values from its trigger"):
        _ = decay().event("time > 1", {"A": "B"}, delay="1", kept=True).flat
    with pytest.raises(SourceError, match=r"S301: 'x.xml' declares XML entities"):
        parse_document('<!DOCTYPE x [<!ENTITY a "b">]>' + decay().text, "x.xml")
    with pytest.raises(SourceError, match=r"S301: 'x.xml'"):
        parse_document("<html/>", "x.xml")
