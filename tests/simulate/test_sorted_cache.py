"""A sorted system from disk is the one that sorting gives, and is asked for with the right key."""

from __future__ import annotations

import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import estimica as es
from estimica.base.errors import ModelError
from estimica.simulate.modelica import sorted_cache
from estimica.source.load import load_flat
from estimica.structure.archive import from_archive, to_archive
from estimica.structure.causality.demand import Causality
from estimica.structure.sort import sort_redefined

TEXT = """
model Plant
  type Mode = enumeration(slow, fast);
  parameter Mode mode = Mode.fast;
  parameter Real k(fixed=false);
  parameter Real L = 1;
  Real x(start=L, fixed=true, unit="m");
  Real y(start=0);
  Real vx(start=0, fixed=true);
  Real vy;
  Real F;
  discrete Real hits(start=0, fixed=true);
  Real h(start=1, fixed=true);
  Real v(start=0, fixed=true);
  Boolean late = time > 0.5;
  Real past = delay(x, 0.1);
  Real a;
  Real b;
initial equation
  k*x = 2;
equation
  x^2 + y^2 = L^2;
  der(x) = vx;
  der(y) = vy;
  der(vx) = -F*x;
  der(vy) = -F*y - 9.81;
  der(h) = v;
  der(v) = if late then -9.81 else -9;
  when h < 0 then
    reinit(v, -0.7*pre(v));
    hits = pre(hits) + 1;
  end when;
  a + b^3 = k*x;
  a - sin(b) = h;
  assert(x < 10, "too far", AssertionLevel.error);
end Plant;
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ESTIMICA_CACHE", str(tmp_path))
    monkeypatch.setattr(sorted_cache, "_SMALL", 0)
    return tmp_path / "sorted"


def test_an_archive_gives_the_same_system_again():
    flat = load_flat(TEXT)
    turned, system = sort_redefined(flat, Causality())
    again = from_archive(to_archive(flat, turned, system), flat)
    assert again == (turned, system)
    assert again[0] is flat
    for field in ("relations", "blocks", "constraints", "reinits", "delays", "assertions"):
        assert getattr(system, field), f"the model has no {field}, so they are not tested"


def test_a_second_load_does_not_sort(cache, monkeypatch):
    times = np.linspace(0, 1, 11)
    first = es.load_model(TEXT)
    assert len(list(cache.iterdir())) == 1
    monkeypatch.setattr(sorted_cache, "sorted_anew", None)
    second = es.load_model(TEXT)
    assert second.notes == first.notes
    assert np.array_equal(second.simulate(times).values, first.simulate(times).values)


def test_another_causality_is_another_entry(cache):
    text = "model R Real u; Real i; parameter Real R = 2; equation u = R*i; end R;"
    es.load_model(text, inputs=["u"])
    es.load_model(text, inputs=["i"])
    assert len(list(cache.iterdir())) == 2


def test_a_system_that_was_changed_has_no_key():
    from dataclasses import replace

    flat = load_flat(TEXT)
    assert flat.key
    assert replace(flat, name="Other").key == ""


@pytest.mark.parametrize("damage", ["", "{}", '{"format": 1}', "null", '{"format": 99}'])
def test_a_damaged_entry_is_sorted_anew(cache, damage):
    es.load_model(TEXT)
    (entry,) = cache.iterdir()
    whole = entry.read_text()
    entry.write_text(damage)
    es.load_model(TEXT)
    assert entry.read_text() == whole


def test_an_entry_with_a_node_that_does_not_exist_is_sorted_anew(cache):
    es.load_model(TEXT)
    (entry,) = cache.iterdir()
    content = json.loads(entry.read_text())
    content["nodes"][-1] = ["__import__", 0]
    entry.write_text(json.dumps(content))
    assert es.load_model(TEXT).system.states


def test_a_model_that_travels_is_sorted_once_on_the_other_side(cache, monkeypatch):
    sent = pickle.dumps(es.load_model(TEXT))
    pickle.loads(sent)
    monkeypatch.setattr(sorted_cache, "sorted_anew", None)
    assert pickle.loads(sent).system.states


def test_equations_of_a_class_that_was_loaded_before_are_written_when_asked_for(cache):
    first = es.load_model(TEXT)
    second = es.load_model(TEXT)
    assert first._equations is not None
    assert second._equations is None
    assert second.equations is second.equations
    assert second.configurations.get(()).tuning.equations is second.equations


def test_threads_share_one_assembly(cache):
    es.load_model(TEXT)
    model = es.load_model(TEXT)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: model._assembled(model.system), range(8)))
    assert all(e is model.equations for e in found)


def test_a_class_whose_equations_cannot_be_written_is_not_kept(cache, monkeypatch):
    def refuse(system):
        raise ModelError("M001", "no")

    monkeypatch.setattr("estimica.compiled.equations.assemble", refuse)
    for _ in range(2):
        with pytest.raises(ModelError, match="no"):
            es.load_model(TEXT)
    assert not cache.exists()


@pytest.mark.parametrize("room", ["structure", "compiled"])
def test_other_code_is_another_entry(cache, monkeypatch, room):
    es.load_model(TEXT)
    folder = Path(import_module(f"estimica.{room}").__file__).parent
    version = sorted_cache.code_version

    def changed(*rooms):
        assert folder in rooms
        return f"{version(*rooms)} and more"

    monkeypatch.setattr(sorted_cache, "code_version", changed)
    es.load_model(TEXT)
    assert len(list(cache.iterdir())) == 2
