"""Only the files of a large library that a class needs go to the compiler, and more where it asks."""

from __future__ import annotations

from pathlib import Path

import pytest

from estimica.base.errors import SourceError
from estimica.source.libraries.search import Library
from estimica.source.load import load_flat
from estimica.source.rumoca import load as load_module
from estimica.source.rumoca.selection import selected

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
    # one that no text leads to: found only once the compiler asks for it
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


def chosen(library: Library, text: str, missed: tuple[str, ...] = ()) -> set[str]:
    selection = selected([library], [text], None, missed)
    assert selection is not None
    return {f.relative_to(library.root).as_posix() for f in selection.originals.values()}


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


def test_only_what_a_class_refers_to_is_selected(big):
    assert chosen(big, "model M extends Big.Parts.Leak; end M;") == LEAK


def test_names_in_comments_and_texts_lead_nowhere(big):
    text = 'model M "as Big.Extras.Extra3" extends Big.Parts.Leak; // Big.Extras.Extra4\nend M;'
    assert chosen(big, text) == LEAK


def test_a_short_name_of_an_import_is_followed(big):
    text = "model M import B = Big.Parts; B.Leak a; end M;"
    assert chosen(big, text) == LEAK


def test_a_name_is_followed_into_the_package_that_is_extended(big):
    assert "Basis/Pump.mo" in chosen(big, "model M Big.Plants.Pump p; end M;")


def test_what_the_compiler_misses_is_added_by_its_last_name(big):
    text = "model M extends Big.Plants.Hidden; end M;"
    assert "Basis/Pump.mo" not in chosen(big, text)
    assert "Basis/Pump.mo" in chosen(big, text, ("Pump",))


def test_small_libraries_are_no_matter_for_selection(big):
    (big.root / "Extras").rename(big.root.parent / "elsewhere")
    assert selected([big], ["model M Big.Parts.Leak a; end M;"]) is None


def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many files the compiler is given, at each attempt."""
    counts: list[int] = []
    real = load_module.flatten

    def counting(text, model, roots, limit):
        counts.append(sum(1 for root in roots for _ in Path(root).rglob("*.mo")))
        return real(text, model, roots, limit)

    monkeypatch.setattr(load_module, "flatten", counting)
    return counts


def test_a_class_of_a_large_library_loads_from_few_files(big, monkeypatch):
    counts = sent(monkeypatch)
    flat = load_flat("Big.Parts.Leak")
    assert counts == [len(LEAK)]
    assert {v.name for v in flat.variables} == {"x", "k"}


def test_a_missed_name_costs_a_second_attempt_not_the_whole_library(big, monkeypatch):
    counts = sent(monkeypatch)
    flat = load_flat("Big.Plants.Hidden")
    assert [v.name for v in flat.variables] == ["p.q"]
    assert len(counts) == 2
    assert max(counts) < 12


def test_a_name_that_is_nowhere_is_an_error_after_the_whole_library(big, monkeypatch):
    counts = sent(monkeypatch)
    with pytest.raises(SourceError, match="nothing is called 'Nowhere'"):
        load_flat("Big.Plants.Wrong")
    assert counts[-1] > 300


def test_a_changed_library_file_makes_the_cache_invalid(big):
    assert _rate(load_flat("Big.Parts.Leak")) == 0.5
    path = big.root / "Basis" / "Common.mo"
    path.write_text(path.read_text().replace("0.25", "0.125"))
    assert _rate(load_flat("Big.Parts.Leak")) == 0.25


def _rate(flat) -> float:
    from estimica.structure.sort import sort_system

    bindings = sort_system(flat).bindings
    return bindings["k"].value
