"""Edits of a study's text: the value changes as asked, everything else stays as it was written."""

from __future__ import annotations

import copy
import math
import random
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from estimica.base.errors import StudyError
from estimica.study.file.edit import appended, moved, renamed, value_at, with_value, without
from estimica.study.toml.write import same_value, toml_value

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*/*.toml"))
BOILER = (ROOT / "examples" / "drum_boiler" / "drum_boiler.toml").read_text(encoding="utf-8")


def edit(text: str, place: tuple[str | int, ...], value: object) -> str:
    new = with_value(text, place, value)
    tomllib.loads(new.removeprefix("\ufeff"))
    return new


# --- one value -----------------------------------------------------------------------------------


def test_a_value_changes_alone() -> None:
    new = edit(BOILER, ("tune", "T_D", "min"), 5)
    assert new == BOILER.replace("min = 10,", "min = 5,")


def test_an_equal_value_changes_nothing() -> None:
    odd = "[tune]\nT  =  {start=2.50e2,min = 10}#c\n"
    assert with_value(odd, ("tune", "T", "start"), 250) == odd
    assert with_value(odd, ("tune", "T"), {"min": 10.0, "start": 250}) == odd


def test_a_number_is_not_a_truth() -> None:
    assert edit("[tune]\na = { active = true }\n", ("tune", "a", "active"), 1) == (
        "[tune]\na = { active = 1 }\n"
    )


def test_a_comment_behind_keeps_its_column() -> None:
    text = "[tune]\na = 1          # one\nb = 2 # two\n"
    assert edit(text, ("tune", "a"), 12345) == "[tune]\na = 12345      # one\nb = 2 # two\n"
    assert edit(text, ("tune", "b"), 12345) == "[tune]\na = 1          # one\nb = 12345 # two\n"


def test_none_removes() -> None:
    assert edit("[tune]\na = 1 # gone\nb = 2\n", ("tune", "a"), None) == "[tune]\nb = 2\n"
    assert edit("[tune]\na = 1\nb = 2", ("tune", "b"), None) == "[tune]\na = 1"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (3, "3"),
        (3.0, "3.0"),
        (1e-5, "1e-5"),
        (1e16, "1e16"),
        (0.1, "0.1"),
        (-2.5e-300, "-2.5e-300"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (math.nan, "nan"),
        (True, "true"),
        ('say "no" \\ \x07\n', '"say \\"no\\" \\\\ \\u0007\\n"'),
        ("häß 温", '"häß 温"'),
        ((1, "a", [2.5]), '[1, "a", [2.5]]'),
        ({"n.v": {"a": None, "b": 1}}, '{ "n.v" = { b = 1 } }'),
        ({}, "{}"),
    ],
)
def test_values_are_written_shortly_and_read_back(value: object, written: str) -> None:
    assert toml_value(value) == written
    assert same_value(tomllib.loads(f"v = {written}")["v"], value)


def test_quotes_stay_as_they_were() -> None:
    assert edit("[model]\nsource = 'a.mo'\n", ("model", "source"), "b.mo") == (
        "[model]\nsource = 'b.mo'\n"
    )
    assert edit("[model]\nsource = 'a.mo'\n", ("model", "source"), "it's") == (
        '[model]\nsource = "it\'s"\n'
    )


# --- short forms ---------------------------------------------------------------------------------


def test_a_number_widens_with_a_second_field_and_narrows_without() -> None:
    text = "[tune]\nA4 = 0.5\n"
    assert value_at(text, ("tune", "A4", "start")) == 0.5
    assert edit(text, ("tune", "A4", "start"), 0.7) == "[tune]\nA4 = 0.7\n"
    wide = edit(text, ("tune", "A4", "min"), 0)
    assert wide == "[tune]\nA4 = { start = 0.5, min = 0 }\n"
    assert without(wide, ("tune", "A4", "min")) == text
    assert without(text, ("tune", "A4", "start")) == "[tune]\nA4 = {}\n"
    assert without(text, ("tune", "A4", "max")) == text


def test_a_new_tuner_is_short() -> None:
    assert edit("[tune]\na = 1\n", ("tune", "b.c", "start"), 2) == '[tune]\na = 1\n"b.c" = 2\n'


def test_an_input_widens_with_a_second_field() -> None:
    text = '[[case]]\nname = "a"\ninputs = { "n.v" = "valve", u = 0 }\n'
    wide = edit(text, ("case", 0, "inputs", "n.v", "hold"), "linear")
    assert 'inputs = { "n.v" = { column = "valve", hold = "linear" }, u = 0 }' in wide
    with pytest.raises(StudyError, match="Q072"):
        with_value(text, ("case", 0, "inputs", "u", "hold"), "linear")


def test_an_output_of_a_frequency_response_widens_to_its_two_columns() -> None:
    text = '[[case]]\nname = "a"\nfrequency = "f"\noutputs = { y = "G" }\n'
    wide = edit(text, ("case", 0, "outputs", "y", "weight"), 2)
    assert 'y = { real = "Re(G)", imag = "Im(G)", weight = 2 }' in wide


def test_names_of_start_values_widen_to_a_table() -> None:
    text = '[[case]]\nname = "a"\nfree_start = ["P", "x2"]   # found along\n'
    place = ("case", 0, "free_start")
    assert value_at(text, (*place, "P")) == {}
    assert edit(text, (*place, "P", "start"), 148).endswith(
        "free_start = { P = 148, x2 = {} }  # found along\n"
    )
    assert 'free_start = ["P", "x2", "x3"]' in edit(text, (*place, "x3"), {})
    assert 'free_start = ["x2"]' in without(text, (*place, "P"))
    assert 'free_start = ["P", "x3"]' in renamed(text, (*place, "x2"), "x3")


def test_switches_and_filters_widen() -> None:
    text = '[[case]]\nname = "a"\nprefilter = "1/(1+s)"\n[case.outputs]\ny = { column = "c", disturbance = true }\n'
    new = edit(text, ("case", 0, "outputs", "y", "disturbance", "start"), 3)
    assert "disturbance = { start = 3 } }" in new
    assert without(new, ("case", 0, "outputs", "y", "disturbance", "start")) == text
    assert value_at(text, ("case", 0, "prefilter", "transfer")) == "1/(1+s)"


# --- tables --------------------------------------------------------------------------------------


def test_a_missing_table_comes_at_the_end_behind_a_blank_line() -> None:
    assert edit("[tune]\na = 1", ("estimate", "starts"), 4) == (
        "[tune]\na = 1\n\n[estimate]\nstarts = 4\n"
    )
    assert edit("", ("tune", "a", "start"), 1) == "[tune]\na = 1\n"
    assert edit("# only words\n", ("tune", "a", "start"), 1) == "# only words\n\n[tune]\na = 1\n"


def test_a_new_key_stands_before_the_comment_of_the_next_table() -> None:
    text = "[tune]\na = 1 # one\n\n# about the model\n[model]\nsource = 'x'\n"
    assert edit(text, ("tune", "b"), 2) == text.replace("# one\n", "# one\nb = 2\n")


def test_keys_in_a_column_stay_in_a_column() -> None:
    text = "[tune]\nA4  = 0.5\nT_D = 250\n"
    assert edit(text, ("tune", "k"), 2).endswith("T_D = 250\nk   = 2\n")
    assert edit("[tune]\na=1\n", ("tune", "b"), 2) == "[tune]\na=1\nb=2\n"


def test_dotted_keys_stay_dotted() -> None:
    text = '[model]\nsource = "x"\nfix.a = 1\nfix."b.c" = 2 # two\n'
    assert edit(text, ("model", "fix", "d"), 3) == text + "fix.d = 3\n"
    assert edit(text, ("model", "fix", "b.c"), 4) == text.replace("= 2", "= 4")
    assert renamed(text, ("model", "fix"), "other") == text.replace("fix.", "other.")
    assert without(text, ("model", "fix")) == '[model]\nsource = "x"\n'
    inline = "a = { b.c = 1, b.d = 2, e = 3 }\n"
    assert without(inline, ("a", "b")) == "a = { e = 3 }\n"
    assert edit(inline, ("a", "b", "f"), 4) == "a = { b.c = 1, b.d = 2, e = 3, b.f = 4 }\n"


def test_tables_out_of_order_are_found() -> None:
    text = "[[case]]\nname = 'x'\n[tune]\na = 1\n[case.outputs]\ny = 'y'\n"
    assert edit(text, ("case", 0, "outputs", "z"), "c").endswith("y = 'y'\nz = \"c\"\n")
    assert without(text, ("case", 0)) == "[tune]\na = 1\n"
    with pytest.raises(StudyError, match="Q075"):
        moved(text + "[[case]]\nname = 'b'\n", ("case", 0), 1)


def test_a_table_of_tables_gets_its_header() -> None:
    text = "# why\n\n[model.fix]\na = 1\n"
    assert edit(text, ("model", "source"), "x.mo") == (
        '# why\n\n[model]\nsource = "x.mo"\n\n[model.fix]\na = 1\n'
    )


def test_lists_over_several_lines_keep_their_comments() -> None:
    text = "[m]\nx = [\n  1, # one\n  # before two\n  2, # two\n]\n"
    assert edit(text, ("m", "x"), [1, 2, 3]) == text.replace("# two\n", "# two\n  3,\n")
    assert edit(text, ("m", "x"), [1, 5]) == text.replace("2,", "5,")
    assert edit(text, ("m", "x"), [2]) == text.replace("  1, # one\n", "")
    assert edit(text, ("m", "x"), [0, 1, 2]) == text.replace("  1,", "  0,\n  1,")
    last = "[m]\nx = [\n  1 # one\n]\n"
    assert edit(last, ("m", "x"), [1, 2]) == "[m]\nx = [\n  1, # one\n  2\n]\n"


def test_a_case_is_appended_behind_the_last_one() -> None:
    new = appended(BOILER, ("case",), {"name": "b", "stop": 3, "inputs": {"u": "v"}})
    block = '[[case]]\nname = "b"\nstop = 3\ninputs = { u = "v" }\n\n'
    assert new == BOILER.replace("[estimate]", block + "[estimate]")
    assert appended("", ("case",), {"name": "a"}) == '[[case]]\nname = "a"\n'
    assert appended("case = []\n", ("case",), {"name": "a"}) == '[[case]]\nname = "a"\n'
    inline = 'case = [{ name = "a" }]\n'
    assert appended(inline, ("case",), {"name": "b"}) == 'case = [{ name = "a" }, { name = "b" }]\n'


def test_a_wide_table_of_a_new_case_gets_a_section() -> None:
    outputs = {f"y{k}": {"column": f"column {k}", "weight": 2.5} for k in range(4)}
    new = appended(BOILER, ("case",), {"name": "b", "outputs": outputs, "stop": 3})
    assert "\n\n[case.outputs]\ny0 = { column" in new
    assert tomllib.loads(new)["case"][1] == {"name": "b", "outputs": outputs, "stop": 3}
    set_later = edit(
        BOILER + "\n[[case]]\nname = 'c'\n",
        ("case", 0, "fix"),
        {f"p{k}": k * 1.5 for k in range(20)},
    )
    assert tomllib.loads(set_later)["case"][1] == {"name": "c"}


def test_a_case_moves_with_its_comments() -> None:
    text = '# first\n[[case]]\nname = "a"\n\n# second\n[[case]]\nname = "b"\n[case.fix]\nx = 1\n'
    there = '# second\n[[case]]\nname = "b"\n[case.fix]\nx = 1\n\n# first\n[[case]]\nname = "a"\n'
    assert moved(text, ("case", 1), 0) == there
    assert moved(there, ("case", 0), 1) == text
    assert moved("x = [1, 2, 3]\n", ("x", 0), 2) == "x = [2, 3, 1]\n"


def test_a_tuner_moves_with_its_comments() -> None:
    text = "[tune]\na = 1 # one\n# on b\nb = 2\nc = { min = 1, max = 2 }\n"
    assert moved(text, ("tune", "b"), 0).startswith("[tune]\n# on b\nb = 2\na = 1 # one\nc")
    assert moved(text, ("tune", "c", "max"), 0).endswith("c = { max = 2, min = 1 }\n")


def test_removing_a_case_keeps_the_comment_of_the_next() -> None:
    text = '[[case]]\nname = "a"\n[case.fix]\nx = 1\n\n# second\n[[case]]\nname = "b"\n'
    assert without(text, ("case", 0)) == '# second\n[[case]]\nname = "b"\n'
    assert without(text, ("case", 1)) == '[[case]]\nname = "a"\n[case.fix]\nx = 1\n\n# second\n'


def test_renaming_reaches_every_header() -> None:
    text = "[tune.a]\nstart = 1\n[tune.a.prior]\nmean = 1\n"
    assert renamed(text, ("tune", "a"), "b.c") == text.replace("tune.a", 'tune."b.c"')


# --- texts of every kind -------------------------------------------------------------------------


def test_line_ends_of_windows_and_a_byte_order_mark_stay() -> None:
    text = "\ufeff[tune]\r\na = 1   # one\r\n\r\n[model]\r\nsource = 'x'\r\n"
    new = edit(edit(edit(text, ("tune", "b"), 2), ("solver", "rtol"), 1e-9), ("tune", "a"), 10)
    assert new == (
        "\ufeff[tune]\r\na = 10  # one\r\nb = 2\r\n\r\n[model]\r\nsource = 'x'\r\n\r\n"
        "[solver]\r\nrtol = 1e-9\r\n"
    )
    assert edit("\ufeff", ("tune", "a"), 1) == "\ufeff[tune]\na = 1\n"
    assert without(text, ("tune", "a")) == "\ufeff[tune]\r\n\r\n[model]\r\nsource = 'x'\r\n"


def test_a_text_without_a_last_line_break_keeps_none() -> None:
    assert edit("[tune]\na = 1", ("tune", "b"), 2) == "[tune]\na = 1\nb = 2"


def test_strings_of_every_kind_are_passed_over() -> None:
    text = (
        '[m]\na = """x # "" ] }\n[y]"""\nb = \'\'\'p\n # q\'\'\'\nc = "\\"#" # e\nd = \'#\'\n'
        "t = 1979-05-27 07:32:00 # when\nh = 0xff\n"
    )
    new = edit(text, ("m", "h"), 1)
    assert new == text.replace("0xff", "1")
    assert edit(text, ("m", "c"), "z") == text.replace('"\\"#"', '"z"')


# --- random edits of all examples ----------------------------------------------------------------


def comments(text: str) -> Counter[str]:
    plain = re.sub(r'"[^"\n]*"', '""', text)  # no example has a quote inside quotes
    return Counter(re.findall(r"#[^\n]*", plain))


def places(value: Any, here: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    if isinstance(value, dict):
        inner = [p for k, v in value.items() for p in places(v, (*here, k))]
    elif isinstance(value, list):
        inner = [p for k, v in enumerate(value) for p in places(v, (*here, k))]
    else:
        inner = []
    return ([here] if here else []) + inner


def at(data: Any, place: tuple[str | int, ...]) -> Any:
    for step in place:
        data = data[step]
    return data


def invented(dice: random.Random) -> object:
    plain = [3, -7, 2.5, 1e-9, math.inf, True, "power", 'a "b"', "x # y", "Q]", ""]
    kinds = [*plain, dice.sample(plain, 3), {"a": 1, "b.c": {"d": "#"}}, [[1, 2.5], [3]], {}, []]
    return copy.deepcopy(dice.choice(kinds))


def wide(data: dict[str, Any]) -> dict[str, Any]:
    """The study with its short forms written out, so that either form compares equal."""
    from estimica.study.toml.short_forms import to_full_form

    def walk(value: Any, place: tuple[str | int, ...]) -> Any:
        value = (
            to_full_form(place, value, {}) if to_full_form(place, value, {}) is not None else value
        )
        if isinstance(value, dict):
            return {k: walk(v, (*place, k)) for k, v in value.items()}
        if isinstance(value, list):
            return [walk(v, (*place, k)) for k, v in enumerate(value)]
        return value

    return walk(data, ())  # type: ignore[no-any-return]


def one_edit(text: str, dice: random.Random) -> tuple[str, dict[str, Any], bool]:
    """A random edit, the study it should give, and whether it takes something away."""
    expected = copy.deepcopy(tomllib.loads(text))
    place = dice.choice(places(expected))
    outer, key = at(expected, place[:-1]), place[-1]
    kind = dice.choice(["set", "set", "add", "remove", "append", "rename", "move"])
    current = outer[key]
    if kind == "add" and isinstance(current, dict):
        value = invented(dice)
        current["new key"] = value
        return with_value(text, (*place, "new key"), value), expected, False
    if kind == "append" and isinstance(current, list):
        value = {"name": "x"} if current and isinstance(current[0], dict) else invented(dice)
        current.append(value)
        return appended(text, place, value), expected, False
    if kind == "rename" and isinstance(outer, dict):
        name = f"re.named {dice.random()}"
        renewed = {(name if k == key else k): v for k, v in outer.items()}
        outer.clear()
        outer.update(renewed)
        return renamed(text, place, name), expected, False
    if kind == "move" and isinstance(outer, list):
        to = dice.randrange(len(outer))
        outer.insert(to, outer.pop(int(key)))
        return moved(text, place, to), expected, not isinstance(current, dict)
    if kind == "remove":
        del outer[key]
        if place[:-1] and len(place) == 2 and not outer and isinstance(outer, list):
            del expected[str(place[0])]  # the last [[table]] takes the name along
        return without(text, place), expected, True
    value = invented(dice)
    if isinstance(outer, list) and isinstance(current, dict):  # under a [[header]] only tables
        value = {"name": "other"}
    outer[key] = value
    return with_value(text, place, value), expected, isinstance(current, (dict, list))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_random_edits_change_the_value_and_keep_the_comments(path: Path) -> None:
    edit_at_random(path, range(2))


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_many_random_edits_do_so_too(path: Path) -> None:
    edit_at_random(path, range(2, 60))


def edit_at_random(path: Path, seeds: range) -> None:
    original = path.read_bytes().decode("utf-8")
    for seed in seeds:
        dice = random.Random(f"{path.stem} {seed}")
        text = original.replace("\n", "\r\n") if seed % 4 == 1 else original
        for _ in range(8):
            new, expected, takes = one_edit(text, dice)
            assert same_value(wide(tomllib.loads(new)), wide(expected)), (text, new)
            if not takes:
                assert not comments(text) - comments(new), (text, new)
            assert ("\r\n" in text) == ("\r\n" in new)
            assert new.count("\n") == new.count("\r\n") or "\r\n" not in text
            text = new
            if not tomllib.loads(text):
                break


ODD = """\
# top
a.b.c = 1 # abc
"q k".'x y' = "s"
[t]
  x = [   # open
    # first
    1, 2, # two
    3 # three
    # end
  ]   # close
  y = [{a=1,b={c=2}}, { a = 2 }]
  z.v.u = { p.q = 1, p.r = 2, s = [] }
  [t.sub]
  k = '''several
lines''' # yes
[[case]] # c0
name = 'a'
[[case.inner]] # i0
x=1
[[case.inner]] # i1
[case.inner.deep] # deep
y = 3
[[case]] # c1
name="b"
[case.outputs] # outs
"n.v" = { column = "c" } # nv
[z.y.x] # zyx
v = 1
[t.late] # late
m = 1979-05-27T07:32:00Z
"""


def filled(value: Any) -> Any:
    """Without empty tables: one that only dotted keys make goes with the last of them."""
    if isinstance(value, dict):
        return {k: v for k, v in ((k, filled(v)) for k, v in value.items()) if v not in ({}, [])}
    return [filled(v) for v in value] if isinstance(value, list) else value


def test_random_edits_of_an_odd_text_do_so_too() -> None:
    refused: set[str] = set()
    for seed in range(20):
        dice = random.Random(seed)
        text = ODD
        for _ in range(8):
            try:
                new, expected, _ = one_edit(text, dice)
            except StudyError as error:  # scattered tables, or a number where a table must be
                refused.add(error.code)
                continue
            assert same_value(filled(wide(tomllib.loads(new))), filled(wide(expected))), (text, new)
            text = new
    assert refused <= {"Q072", "Q075"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_setting_what_is_there_changes_no_byte(path: Path) -> None:
    text = path.read_bytes().decode("utf-8")
    data = tomllib.loads(text)
    for place in places(data):
        assert with_value(text, place, at(data, place)) == text
        assert value_at(text, place) == at(data, place)
