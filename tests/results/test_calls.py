"""Public functions as a user calls them: what help shows, mistakes in keywords, `starts`."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import fields
from typing import Any

import pytest
from tests.results import every

import estimica as es
from estimica.study.tables.optimisation import MontecarloTable, OptimiseTable, SweepTable

FUNCTIONS = every.public_functions()
#: what may take seconds or more; each shows how far it is
LONG = {
    "bootstrap", "cost_curve", "criterion_map", "crossvalidate", "design_input", "find_noise", "fit",
    "identifiability", "montecarlo", "optimise", "pareto", "profile", "region", "release",
    "sample", "sweep",
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_help_shows_every_keyword_with_its_type(name: str) -> None:
    signature = inspect.signature(FUNCTIONS[name])
    for one in signature.parameters.values():
        assert one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL), f"{name}(**{one.name})"
        assert one.annotation is not one.empty, f"{name}({one.name}) has no type"
    assert signature.return_annotation is not signature.empty
    assert inspect.getdoc(FUNCTIONS[name])
    assert FUNCTIONS[name].__name__ == name


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_misspelt_keyword_is_told_with_the_one_that_was_meant(name: str) -> None:
    keyword = list(inspect.signature(FUNCTIONS[name]).parameters)[-1]
    with pytest.raises(TypeError) as told:
        FUNCTIONS[name](**{f"{keyword}x": 1})
    assert f"{name}() has no argument '{keyword}x'; did you mean '{keyword}'" in str(told.value)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_travel_to_other_processes_by_their_public_names(name: str) -> None:
    assert pickle.loads(pickle.dumps(FUNCTIONS[name])) is FUNCTIONS[name]


def test_a_keyword_far_from_all_gets_the_list() -> None:
    with pytest.raises(TypeError, match=r"\(there are study, starts, seed, progress"):
        es.fit(every.study(), zzz=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("optimise", OptimiseTable),
        ("pareto", OptimiseTable),
        ("montecarlo", MontecarloTable),
        ("sweep", SweepTable),
    ],
)
def test_settings_of_a_table_are_keywords_of_its_function(name: str, table: type) -> None:
    keywords = set(inspect.signature(FUNCTIONS[name]).parameters)
    assert {f.name for f in fields(table)} <= keywords


def test_long_functions_show_how_far_they_are() -> None:
    assert {n for n, f in FUNCTIONS.items() if "progress" in inspect.signature(f).parameters} == (
        LONG
    )


@pytest.mark.parametrize("name", sorted(LONG - {"fit", "sample"}))
def test_long_functions_tell_a_function_what_a_bar_would_show(name: str) -> None:
    told = []
    calls = {
        "bootstrap": lambda tell: es.bootstrap(every.fit(), 2, progress=tell),
        "cost_curve": lambda tell: es.cost_curve(every.fit(), "K", points=3, progress=tell),
        "criterion_map": lambda tell: es.criterion_map(
            every.fit(), "K", "tau", points=2, progress=tell
        ),
        "crossvalidate": lambda tell: es.crossvalidate(every.fit(), 2, progress=tell),
        "design_input": lambda tell: es.design_input(every.study(), every.SQUARE, progress=tell),
        "identifiability": lambda tell: es.identifiability(every.fit(), progress=tell),
        "montecarlo": lambda tell: es.montecarlo(
            every.design(), draw={"x": {"min": 0, "max": 1}}, samples=3, progress=tell
        ),
        "optimise": lambda tell: es.optimise(every.design(), progress=tell),
        "pareto": lambda tell: es.pareto(every.design(), points=3, progress=tell),
        "profile": lambda tell: es.profile(every.fit(), "K", points=3, progress=tell),
        "region": lambda tell: es.region(every.fit(), "K", "tau", points=8, progress=tell),
        "find_noise": lambda tell: es.find_noise(every.modelica(), progress=tell),
        "release": lambda tell: es.release(every.study(), progress=tell),
        "sweep": lambda tell: es.sweep(every.design(), vary={"x": [0, 1]}, progress=tell),
    }
    calls[name](told.append)
    assert told
    for one in told:
        assert one.share is None or 0 <= one.share <= 1
        assert one.words.strip()


# --- starts --------------------------------------------------------------------------------------


def test_starts_are_a_number_or_values() -> None:
    fit = es.fit(every.study(), starts={"K": 2.5})
    assert fit.parameters.start.to_dict() == {"K": 2.5, "tau": 3.0}
    assert fit["K"] == pytest.approx(every.fit()["K"], rel=1e-4)
    several = es.fit(every.study(), starts=3, seed=7)
    assert len(several.starts) == 3
    assert several.study.estimation.seed == 7


def test_starts_of_what_is_no_tuner_are_told() -> None:
    with pytest.raises(es.TunerError, match="T019: starts: the study has no tuner 'taw'; did you"):
        es.fit(every.study(), starts={"taw": 1.0})
    with pytest.raises(es.TunerError, match=r"T0\d\d: tuner 'K': start 20 .*max 10"):
        es.fit(every.study(), starts={"K": 20.0})


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: es.Study(es.transfer_function("K/(1 + s)"), ["K"], [], estimatoin=None),
            r"Study\(\) has no argument 'estimatoin'; did you mean 'estimation'\?",
        ),
        (
            lambda: es.Study(es.transfer_function("K/(1 + s)"), ["K"], [], qq=None),
            r"Study\(\) has no argument 'qq' \(there are model, tuners, cases, criterion, .*columns",
        ),
        (lambda: es.Options(rtoll=1), r"Options\(\) has no argument 'rtoll'; did you mean 'rtol'"),
        (
            lambda: es.signals.Step(amplitud=2.0),
            r"Step\(\) has no argument 'amplitud'; did you mean 'amplitude'\?",
        ),
        (lambda: es.Case("a", inptus={}), r"case 'a': unknown key 'inptus'; did you mean 'inputs'"),
        (lambda: es.Tuner("a", strat=1), r"tuner 'a': unknown key 'strat'; did you mean 'start'"),
        (lambda: es.Tuner("a", qq=1), r"tuner 'a': unknown key 'qq'; there are name, start, min"),
        (lambda: es.Solver(atoll=1), r"solver: unknown key 'atoll'; did you mean 'atol'"),
        (lambda: es.Estimation(los=1), r"estimation: unknown key 'los'; did you mean 'loss'"),
    ],
)
def test_a_misspelt_keyword_of_a_class_is_named(call: Any, words: str) -> None:
    with pytest.raises((TypeError, es.EstimicaError), match=words):
        call()
