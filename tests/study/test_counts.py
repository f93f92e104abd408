"""Every whole number of a study and of the command line has an upper limit, or a reason for none."""

from __future__ import annotations

import itertools
import re
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from estimica.apps.cli.commands.app import app
from estimica.base.errors import DesignError, ExecuteError, ExperimentError
from estimica.execute.workers.executor import executor
from estimica.experiment.signals import Multisine
from estimica.optimise.assess.samples import grid, one_at_a_time, require_few, unit_samples
from estimica.study.fields import counts
from estimica.study.file.read import examine_tables
from estimica.study.tables.schema import study_schema

#: whole numbers without a limit, and why
UNLIMITED = {
    "ModelTable.fix": "the value of a parameter; sizes of arrays are limited where they are used",
}
#: options without a limit of their own: they stand in for an entry of the study, which has one
OF_THE_STUDY = {
    "draws", "chains", "warmup",
    "starts", "seed", "max_iterations", "replicates", "block_length", "samples", "points", "folds",
    "max_steps", "max_evaluations", "population", "pieces",
}  # fmt: skip
#: asked of the machine when the work begins
OF_THE_MACHINE = {"workers"}


def _integers(node: object, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(node, Mapping):
        if node.get("type") == "integer":
            yield path, node
        for key, inner in node.items():
            yield from _integers(inner, (*path, key))
    elif isinstance(node, list):
        for inner in node:
            yield from _integers(inner, path)


def _fields() -> dict[str, Mapping[str, Any]]:
    """Table.key of the schema, and what it says of the number."""
    found = {}
    for table, content in study_schema()["$defs"].items():
        for key, node in content.get("properties", {}).items():
            for _, number in _integers(node, ()):
                found[f"{table}.{key}"] = number
    return found


FIELDS = _fields()
PLACES = {
    "BackcalculateTable": "backcalculate", "BootstrapTable": "bootstrap",
    "CrossvalidateTable": "crossvalidate", "Estimation": "estimate",
    "InputDesignTable": "input_design", "MontecarloTable": "montecarlo",
    "OptimiseTable": "optimise", "ParetoTable": "optimise.pareto", "ProfileTable": "profile",
    "ReleaseTable": "release", "RobustTable": "optimise.robust", "Solver": "solver",
    "SampleTable": "sample", "SweepTable": "sweep",
}  # fmt: skip


def test_every_whole_number_of_the_schema_has_a_maximum_or_a_reason() -> None:
    assert {n for n, field in FIELDS.items() if "maximum" not in field} == set(UNLIMITED)
    assert len(FIELDS) > 30


def test_every_limit_stands_with_its_reason() -> None:
    lines = Path(counts.__file__).read_text(encoding="utf-8").splitlines()
    for before, line in itertools.pairwise(lines):
        if re.match(r"[A-Z_]+ = ", line):
            assert before.startswith("#") or re.match(r"[A-Z_]+ = ", before), line


@pytest.mark.parametrize("name", sorted(set(FIELDS) - set(UNLIMITED)))
@pytest.mark.parametrize("number", [10**9, 10**18, 10**400])
def test_a_number_beyond_its_limit_is_told(name: str, number: int) -> None:
    table, _, key = name.partition(".")
    value: object = [number] if key == "lines" else number
    if table == "Span":
        tables: dict[str, Any] = {"sweep": {"vary": {"a": {"from": 0, "to": 1, key: value}}}}
    elif table == "Prefilter":
        tables = {"case": [{"name": "c", "prefilter": {"band": [0.1, 1], key: value}}]}
    else:
        tables = {key: value}
        for part in reversed(PLACES[table].split(".")):
            tables = {part: tables}
    told = "; ".join(p.text for p in examine_tables(tables))
    if number <= FIELDS[name]["maximum"]:
        assert not told
    else:
        assert key in told
        assert "it must be at most" in told or "too large" in told


def _options() -> Iterator[tuple[str, Any]]:
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        for option in command.params:
            kind = option.type_descriptor.annotation
            if int in (kind, *typing.get_args(kind)):
                yield name, option


OPTIONS = list(_options())


def test_every_whole_number_of_the_command_line_has_a_limit() -> None:
    without = {o.name for _, o in OPTIONS if o.max is None}
    assert without <= OF_THE_STUDY | OF_THE_MACHINE
    assert len(OPTIONS) > 20


@pytest.mark.parametrize(
    ("command", "option"),
    [pytest.param(c, o, id=f"{c} {o.name}") for c, o in OPTIONS if o.max is not None],
)
def test_an_option_beyond_its_limit_is_told(command: str, option: Any) -> None:
    given = ["a.mo"] if command in ("simulate", "signal") else []
    given = ["a.toml", "a", "b"] if command == "map" else given
    given = ["a.toml"] if command == "identifiability" else given
    done = CliRunner().invoke(app, [command, *given, option.opts[0], str(10**30)])
    assert done.exit_code == 2
    assert option.opts[0] in done.output


def test_more_workers_than_processors_can_feed_are_refused() -> None:
    with pytest.raises(ExecuteError, match=r"X012: 1000000000 workers: this machine has \d+ proc"):
        executor("local", 10**9)


def test_grids_are_counted_before_they_are_made() -> None:
    axes = {f"a{k}": range(100) for k in range(10)}
    with pytest.raises(DesignError, match="O050"):
        grid(axes)
    wide = {f"a{k}": range(10) for k in range(3000)}
    with pytest.raises(DesignError, match="O050"):
        one_at_a_time(wide, dict.fromkeys(wide, 0.0))
    with pytest.raises(DesignError, match="O050"):
        unit_samples(5_000_000, 11, "random", 1)
    with pytest.raises(DesignError, match="O050"):
        require_few({f"a{k}": 200_000 for k in range(1000)})


def test_lines_of_a_multisine_are_limited() -> None:
    with pytest.raises(ExperimentError, match="line 1000000000 is above 100000; choose a larger"):
        Multisine([1, 10**9], 0.1)
    with pytest.raises(ExperimentError, match="99999 lines up to 99999 are too many"):
        Multisine(range(1, 100_000), 0.1)


def test_a_seed_of_18_digits_is_taken() -> None:
    assert counts.SEED > 10**18
    assert np.isfinite(unit_samples(4, 2, "sobol", 10**18)).all()
    assert np.isfinite(unit_samples(4, 2, "latin-hypercube", 10**18)).all()
