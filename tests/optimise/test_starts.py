"""Several starts: against functions whose optima are known, and what the user is told of them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from tests.optimise.formula_studies import formula_study
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.execute.runs.record import Status
from estimica.execute.runs.store import Store
from estimica.optimise.optimum import one_start
from estimica.optimise.optimum import starts as policy
from estimica.optimise.optimum.run import DesignProgress

TWO_VALLEYS = "x^4 - 2*x^2 + 0.3*x + 2"
#: Dixon and Szegö (1978): six local minima, two of them global, -1.031628453 at ±(0.0898, -0.7126)
CAMEL = "(4 - 2.1*x^2 + x^4/3)*x^2 + x*y + (4*y^2 - 4)*y^2"
#: Rastrigin's function of one variable: the global minimum 0 at 0, local ones beside all integers
RASTRIGIN = "10 + x^2 - 10*cos(2*3.141592653589793*x)"


def valleys(**more: object) -> es.Optimised:
    study = formula_study({"x": (0.9, -2.0, 2.0)}, [es.Criterion("cost", TWO_VALLEYS)])
    return es.optimise(study, **more)  # type: ignore[arg-type]


def test_by_default_a_poor_start_is_not_the_end() -> None:
    found = valleys()
    deep, _, shallow = np.sort(np.roots([4, 0, -4, 0.3]).real)
    assert float(found.best.tuners[0]) == pytest.approx(deep, abs=1e-4)
    own = found.agreement
    assert (own.asked, own.made, own.failed, own.cut_short, own.elsewhere) == (8, 8, 0, 0, 0)
    assert own.here + own.worse == 8
    assert own.worse >= 1  # the study's own start ends in the shallow valley
    assert [float(o.best.point.tuners[0]) for o in own.optima if o.best.point] == pytest.approx(
        [deep, shallow], abs=1e-4
    )
    assert found.starts[0].number == 1
    assert float(found.starts[0].start[0] * 0.9) == pytest.approx(0.9)  # the study's own
    text = f"{own.here} of 8 starts end at this optimum; {own.worse} at worse ones, 0 failed."
    assert own.text == text.replace("1 at worse ones", "1 at a worse one")
    assert own.text in found.table().note


def test_rastrigins_valleys_do_not_hold_the_search() -> None:
    study = formula_study({"x": (1.99, -2.5, 2.5)}, [es.Criterion("cost", RASTRIGIN)])
    alone, several = es.optimise(study, starts=1), es.optimise(study)
    # the local minimum near 2 solves x + 10·π·sin(2πx) = 0
    assert float(alone.best.tuners[0]) == pytest.approx(1.98991, abs=1e-4)
    assert float(several.best.tuners[0]) == pytest.approx(0.0, abs=1e-4)
    assert several.alpha == pytest.approx(0.0, abs=1e-6)
    assert several.agreement.worse >= 1


def test_two_global_minima_are_told_apart_and_called_as_good() -> None:
    study = formula_study({"x": (1.6, -2.0, 2.0), "y": (-0.6, -1.0, 1.0)}, [
        es.Criterion("cost", f"2 + {CAMEL}")
    ])  # fmt: skip
    found = es.optimise(study, starts=24)
    assert found.alpha == pytest.approx(2 - 1.031628453, abs=1e-6)
    assert np.abs(found.best.tuners) == pytest.approx([0.0898, 0.7126], abs=1e-3)
    own = found.agreement
    assert own.here >= 1
    assert own.elsewhere >= 1
    assert f"{own.elsewhere} at designs elsewhere that are as good" in own.text
    twin = own.optima[1].best.point
    assert twin is not None
    assert twin.tuners == pytest.approx(-found.best.tuners, abs=1e-3)


TURN = """
model Turn "a = w*t"
  parameter Real w = 3;
  Real a(start = 0, fixed = true);
equation
  der(a) = w;
  annotation(experiment(StopTime = 5));
end Turn;
"""


def turning(folder: Path) -> es.Study:
    (folder / "Turn.mo").write_text(TURN, encoding="utf-8")
    wave = es.Criterion("wave", "2 + 0.1*a + cos(a)", "final")
    return es.Study(
        es.load_model(folder / "Turn.mo"),
        [es.Tuner("w", start=3.0, min=0.1, max=4.0)],
        [],
        criteria=[wave],
    )


def test_an_equation_with_three_valleys(tmp_path: Path) -> None:
    study = turning(tmp_path)
    # with a = 5·w: minima where sin(a) = 0.1 and cos(a) < 0: a = π - asin(0.1) + 2πk, rising with k
    minima = [(math.pi - math.asin(0.1) + 2 * math.pi * k) / 5 for k in range(3)]
    alone, several = es.optimise(study, starts=1), es.optimise(study)
    assert float(alone.best.tuners[0]) == pytest.approx(minima[2], rel=1e-3)
    assert float(several.best.tuners[0]) == pytest.approx(minima[0], rel=1e-3)
    ends = [float(o.best.point.tuners[0]) for o in several.agreement.optima if o.best.point]
    assert set(np.round(ends, 2)) <= {round(m, 2) for m in minima}
    assert several.agreement.here + several.agreement.worse == 8


@pytest.mark.parametrize("method", ["sqp", "quasi-newton", "simplex", "pattern"])
def test_further_starts_never_make_a_design_worse(method: str) -> None:
    alone, several = valleys(method=method, starts=1), valleys(method=method)
    assert several.alpha <= alone.alpha * (1 + 1e-12)
    assert several.starts[0].cost == alone.starts[0].cost


def test_a_population_is_many_starts_already() -> None:
    found = valleys(method="genetic", max_iterations=5)
    assert found.agreement.made == 1
    assert "start" not in found.table().note.split("designs were simulated")[0]
    two = valleys(method="genetic", max_iterations=5, starts=2)
    assert two.agreement.made == 2


@pytest.mark.slow  # worker processes
def test_the_seed_gives_the_same_design_whoever_searches() -> None:
    first, again = valleys(starts=4), valleys(starts=4, workers=2)
    other = valleys(seed=2, starts=4)
    assert first.to_dict()["starts"][0]["start"] == {"x": 0.9}  # type: ignore[index]

    def told(found: es.Optimised) -> list[object]:
        return [(e.start.tolist(), e.cost, e.evaluations, e.status) for e in found.starts]

    assert told(first) == told(again)
    assert [e.start.tolist() for e in first.starts] != [e.start.tolist() for e in other.starts]
    assert first.iterates[-1].cost == first.alpha


def test_starts_that_cannot_be_simulated_are_drawn_again() -> None:
    # no value for x < 0, the better half of the bounds in number
    study = formula_study(
        {"x": (1.0, -3.0, 3.0)}, [es.Criterion("cost", "(x-1)^2 + 1e-12*sqrt(x)")]
    )
    found = es.optimise(study)
    assert found.agreement.here == 8
    assert any(end.drawn_again for end in found.starts)
    assert found.failed > 0


def test_starts_that_fail_everywhere_are_counted() -> None:
    # one place in a million has a value, and the study knows it
    criterion = es.Criterion("cost", "(x-1)^2 + 1e-12*sqrt(1e-12 - (x-1)^2)")
    found = es.optimise(formula_study({"x": (1.0, -1e3, 1e3)}, [criterion]))
    assert found.agreement.failed == 7
    assert found.agreement.text.endswith("none at a worse one, 7 failed.")


def test_long_searches_are_not_made_eight_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "LONG", 0.0)
    found = valleys()
    assert found.agreement.made == 1
    told = found.agreement.text
    assert told.startswith("There was one start: a better optimum elsewhere is not excluded (no")
    assert "set starts = 8 to make them" in told
    assert valleys(starts=3).agreement.made == 3  # who asks is given


def test_a_busy_computer_makes_no_search_long() -> None:
    assert one_start.search_effort(2.0, 11.0) == 2.0
    assert one_start.search_effort(0.1, 150.0) == 15.0  # a model that computes elsewhere


def test_starts_are_given_up_once_they_have_taken_long(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 10_000, 2))  # s, at each look on the clock
    monkeypatch.setattr(one_start, "process_time", lambda: float(next(clock)))
    found = valleys()
    own = found.agreement
    assert own.made == 1 + 6  # 2 s each, until more than 10 s are over
    lost = 8 - own.made
    starts = "1 start was" if lost == 1 else f"{lost} starts were"
    assert f"{starts} not made, as the others took more than 10 s; set starts = 8" in own.text


def test_the_most_designs_are_shared_by_the_starts() -> None:
    designs = valleys(starts=1).evaluations
    most = 5 * designs + 1  # each further one may take twice as many as the first
    found = valleys(max_evaluations=most)
    assert found.evaluations <= most
    assert found.agreement.made == 3
    told = f"Max_evaluations = {most} leaves room for 2 of 7 further starts."
    assert found.agreement.text.endswith(told)
    assert found.outcome.ok


def stop_at(start: int) -> object:
    def stop(p: DesignProgress) -> None:
        if p.start >= start:
            raise KeyboardInterrupt

    return stop


def test_an_interrupt_keeps_the_best_of_all_starts_and_is_taken_up(tmp_path: Path) -> None:
    whole = valleys()
    store = Store(tmp_path / "runs.sqlite")
    with store.begin("optimise", name="valleys", study="", settings={}) as writer:
        part = valleys(progress=stop_at(4), run=writer)
        writer.finish(Status.INTERRUPTED)
        name = writer.id
    assert part.outcome.status == "interrupted"
    assert part.outcome.message == "the best design so far, from 3 of 8 starts"
    assert part.alpha <= part.starts[0].cost
    assert len(part.starts) == 3
    with store.resume(name) as writer:
        noted = len(writer.checkpoints())
        again = valleys(run=writer)
    assert noted == 3
    assert again.agreement.text == whole.agreement.text
    assert again.best.tuners.tolist() == whole.best.tuners.tolist()
    assert again.evaluations == whole.evaluations
    assert [i.cost for i in again.iterates] == [i.cost for i in whole.iterates]


def test_robust_designs_have_several_starts_too() -> None:
    study = formula_study(
        {"x": (0.9, -2.0, 2.0)}, [es.Criterion("cost", "(x^2 - p)^2 + 0.3*x + 2")]
    )
    found = es.optimise(study, robust={"uncertain": {"p": [0.9, 1.0, 1.1]}})
    x = np.linspace(-2, 2, 400_001)  # brute force
    worst = np.max([(x**2 - p) ** 2 + 0.3 * x + 2 for p in (0.9, 1.0, 1.1)], axis=0)
    assert found.alpha == pytest.approx(worst.min(), rel=1e-4)
    assert float(found.best.tuners[0]) == pytest.approx(x[worst.argmin()], abs=1e-2)
    assert found.agreement.made == 8


STUDY = """
[model]
source = "Turn.mo"
[tune]
w = { start = 3.1, min = 0.1, max = 4 }
[[criterion]]
name = "wave"
kind = "final"
of = "2 + 0.1*a + cos(a)"
"""


def test_terminal_page_and_json_say_how_many_starts_agree(tmp_path: Path) -> None:
    (tmp_path / "Turn.mo").write_text(TURN, encoding="utf-8")
    path = tmp_path / "turn.toml"
    path.write_text(STUDY, encoding="utf-8")
    page = tmp_path / "page.html"
    done = CliRunner().invoke(app, ["optimise", str(path), "--report", str(page)])
    assert done.exit_code == 0, done.output
    told = " ".join(done.stdout.split())
    assert "of 8 starts end at this optimum;" in told
    html = page.read_text(encoding="utf-8")
    assert "of 8 starts end at this optimum;" in html
    assert ">Starts<" in html
    shown = CliRunner().invoke(app, ["optimise", str(path), "--starts", "3", "--json"])
    found = json.loads(shown.stdout)
    own = found["agreement"]
    assert own["asked"] == own["made"] == len(found["starts"]) == 3
    assert own["here"] + own["elsewhere"] + own["worse"] + own["cut_short"] + own["failed"] == 3
    assert own["text"].startswith(f"{own['here']} of 3 starts")
    assert sum(len(o["starts"]) for o in own["optima"]) == 3
