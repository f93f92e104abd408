"""Dirty logger files are read right, or refused with the setting that reads them right."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from tests.data.dirty_files import DIRTY, DirtyFile

import estimica as es
from estimica.data.readers import read_data
from estimica.study.case import InputColumn
from estimica.study.reading import Reading
from estimica.study.record.samples import examine


def test_there_are_enough_of_them_and_each_has_a_name() -> None:
    assert len(DIRTY) >= 20
    assert len({d.dirt for d in DIRTY}) == len(DIRTY)


@pytest.mark.parametrize("dirty", DIRTY, ids=lambda d: d.dirt)
def test_a_dirty_file_is_read_right_or_refused_with_the_setting(
    dirty: DirtyFile, tmp_path: Path
) -> None:
    path, truth = dirty.put(tmp_path)
    case = es.Case(
        "a",
        str(path),
        inputs={"P": InputColumn("power")},
        outputs={"T": "room", "E": "meter"},
        time=None,
    )
    record, problems = examine(case)
    errors = [p for p in problems if not p.warning]
    if dirty.refused:
        assert errors, "it is read without a word"
        assert any(dirty.refused in p.text for p in errors), [p.text for p in errors]
        case = dataclasses.replace(case, reading=Reading(**dirty.settings))
        record, problems = examine(case)
        errors = [p for p in problems if not p.warning]
    assert errors == []
    assert record is not None
    for output, column in zip(record.outputs, ("room", "meter"), strict=True):
        sampled = np.isfinite(truth.columns[column])
        assert output.time == pytest.approx(truth.time[sampled], abs=1e-3)
        assert output.value.tolist() == truth.columns[column][sampled].tolist()
    assert record.inputs["P"].value.tolist() == truth.columns["power"].tolist()
    # what is lost is counted and told
    told = " ".join(p.text for p in problems)
    for column, rows in dirty.lost.items():
        assert f"column '{column}'" in told
        assert f"{len(rows)} cells do not hold a number" in told


def test_the_settings_are_those_of_the_reader_too(tmp_path: Path) -> None:
    for dirty in DIRTY:
        path, truth = dirty.put(tmp_path)
        data = read_data(path, **dirty.settings)
        assert data.time() == pytest.approx(truth.time, abs=1e-3), dirty.dirt
        for name, values in truth.columns.items():
            assert np.array_equal(data.column(name), values, equal_nan=True), (dirty.dirt, name)
