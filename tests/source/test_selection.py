"""Only the files of a large library that a class needs are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from estimica.base.errors import SourceError
from estimica.source import request
from estimica.source.libraries.search import Library
from estimica.source.load import load_flat
from estimica.source.syntax.file import parse_file
from estimica.source.syntax.tree import Source

FILES = {
    "package.mo": 'package Big "a large library"\nend Big;',
    "Parts/package.mo": "within Big;\npackage Parts\nend Parts;",
    "Parts/Leak.mo": "within Big.Parts;\nmodel Leak\n  extends Interfaces.Store;\n"
    "  import S = Big.Settings;\n  parameter Real k = S.Numbers.rate;\n"
    "equation\n  der(x) = -k*x;\nend Leak;",
    "Parts/Other.mo": "within Big.Parts;\nmodel Other\n  Big.Extras.Extra1 e;\nend Other;",
    "Parts/Interfaces/package.mo": "within Big.Parts;\npackage Interfaces\nend Interfaces;",
    "Parts/Interfaces/Store.mo": "within Big.Parts.Interfaces;\npartial model Store\n"
    "  Real x(start=1, fixed=true);\nend Store;",
    "Settings/package.mo": "within Big;\npackage Settings\nend Settings;",
    "Settings/Numbers.mo": "within Big.Settings;\npackage Numbers\n  extends Big.Basis.Common;\n"
    "  constant Real rate = 2*half;\nend Numbers;",
    "Basis/package.mo": "within Big;\npackage Basis\nend Basis;",
    "Basis/Common.mo": "within Big.Basis;\npackage Common\n  constant Real half = 0.25;\nend Common;",
    "Basis/Pump.mo": "within Big.Basis;\nmodel Pump\n  Real q = 3;\nend Pump;",
    # a name that stands in a package which another one extends
    "Plants/package.mo": "within Big;\npackage Plants\n  extends Big.Basis;\nend Plants;",
    "Plants/Works.mo": "within Big.Plants;\nmodel Works\n  Big.Plants.Pump p;\nend Works;",
    # the same by its short name
    "Plants/Hidden.mo": "within Big.Plants;\nmodel Hidden\n  Pump p;\nend Hidden;",
    "Plants/Wrong.mo": "within Big.Plants;\nmodel Wrong\n  Nowhere p;\nend Wrong;",
    "Extras/package.mo": "within Big;\npackage Extras\nend Extras;",
}


@pytest.fixture
def big(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    root = tmp_path / "libraries" / "Big"
    files = dict(FILES)
    files |= {
        f"Extras/Extra{k}.mo": f"within Big.Extras;\nmodel Extra{k}\n  Real x = {k};\nend Extra{k};"
        for k in range(300)
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    monkeypatch.setenv("MODELICAPATH", str(root.parent))
    monkeypatch.setenv("ESTIMICA_CACHE", str(tmp_path / "cache"))
    return Library("Big", root)


LEAK = {
    "package.mo",
    "Parts/package.mo",
    "Parts/Leak.mo",
    "Parts/Interfaces/package.mo",
    "Parts/Interfaces/Store.mo",
    "Settings/package.mo",
    "Settings/Numbers.mo",
    "Basis/package.mo",
    "Basis/Common.mo",
}


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch, big: Library) -> set[str]:
    """The files that were read."""
    found: set[str] = set()

    def reading(path: Path, size: int, changed: int):
        found.add(path.relative_to(big.root).as_posix())
        return parse_file(Source(path.read_text(), str(path)))

    monkeypatch.setattr(request, "_parsed", reading)
    return found


@pytest.mark.parametrize(
    "text",
    [
        "model M extends Big.Parts.Leak; end M;",
        'model M "as Big.Extras.Extra3" extends Big.Parts.Leak; // Big.Extras.Extra4\nend M;',
        "model M import B = Big.Parts; B.Leak a; end M;",
    ],
)
def test_only_the_files_that_names_lead_to_are_read(text, read):
    load_flat(text, cache=False)
    assert read == LEAK


def test_a_class_of_a_large_library_loads_from_few_files(read):
    flat = load_flat("Big.Parts.Leak", cache=False)
    assert read == LEAK
    assert {v.name for v in flat.variables} == {"x", "k"}


@pytest.mark.parametrize("name", ["Works", "Hidden"])
def test_a_name_is_followed_into_the_package_that_is_extended(name, read):
    flat = load_flat(f"Big.Plants.{name}", cache=False)
    assert [v.name for v in flat.variables] == ["p.q"]
    assert "Basis/Pump.mo" in read
    assert len(read) < 12


def test_a_name_that_is_nowhere_is_told_with_its_place(big, read):
    with pytest.raises(SourceError, match=r"Wrong\.mo:3:3: class 'Nowhere' not found"):
        load_flat("Big.Plants.Wrong", cache=False)
    assert len(read) < 12


def test_a_changed_library_file_makes_the_cache_invalid(big):
    assert _rate(load_flat("Big.Parts.Leak")) == 0.5
    path = big.root / "Basis" / "Common.mo"
    path.write_text(path.read_text().replace("0.25", "0.125"))
    assert _rate(load_flat("Big.Parts.Leak")) == 0.25


def _rate(flat) -> float:
    from estimica.structure.sort import sort_system

    bindings = sort_system(flat).bindings
    return bindings["k"].value
