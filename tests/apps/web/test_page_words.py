"""Messages as pages say them: fields, pages and buttons in place of keys, tables and commands."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from estimica.apps.web.parts.markup import FIRM, unbroken, unbroken_table
from estimica.apps.web.session.page_words import PAGES, in_page_words
from estimica.base.view import Table
from estimica.study.form.tables import every_field

TABLES = "|".join(PAGES)
KEYS = "|".join(f.name for f in every_field() if f.name.isidentifier())
#: a command, an option, a table of the file, a key with its value
FOREIGN = re.compile(
    rf"`estimica|(?<![\w-])--[a-z]|(?<!\w)\[\[?(?:{TABLES})\]|"
    rf'(?<![\w.])(?:{KEYS}) = ["\d{{\[tf…]|\{{ \w|pip install'
)


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ('write criterion = "ml" in [estimate]', "set Criterion to “ml” on the page Estimation"),
        ("add it to [tune]", "add it on the page Tuners"),
        ("set it with [model] fix", "set it with Fix on the page Model"),
        ("tighten [solver] rtol, or (starts = 20)", "tighten Rtol on the page Solver, or (Starts: 20)"),
        ('write { column = "E", scale = 2 }', "set Column to “E” and Scale to 2"),
        ("leave it out (active = false)", "leave it out (Active off)"),
        ("release them too: [release] noise = true",
         "release them too: on the page Release switch Noise on"),
        ("'x' is not a store; give another file with --store", "'x' is not a store"),
        ("begin with `estimica fit a.toml`", "begin with “Fit”"),
        ("the model has no 'y'; see `estimica inspect`", "the model has no 'y'; see the page Model"),
        ("x[1] = 2 and Real T(free = true) stay", "x[1] = 2 and Real T(free = true) stay"),
        ("agree with `estimica trust a.toml`", "agree with “estimica trust a.toml”"),
        ("needs SALib; install it with: pip install 'estimica[optimise]'",
         "needs SALib; ask for estimica[optimise] where the workbench runs"),
        ('[columns] y says so for all cases: write outputs = { y = "…" } in this case where it is '
         'called otherwise, or without = ["y"] where there is none',
         "all cases take y from it: choose another column on the page of this case, or leave it "
         "out there"),
        ("", ""),
    ],
)  # fmt: skip
def test_a_next_step_is_told_in_the_words_of_the_page(message: str, words: str) -> None:
    assert in_page_words(message) == words


def test_no_message_of_a_study_its_data_or_a_design_speaks_of_file_or_terminal() -> None:
    tables = Path(__file__).resolve().parents[2].glob("*/messages.toml")
    texts = [
        text
        for table in tables
        for mistakes in tomllib.loads(table.read_text(encoding="utf-8")).values()
        for told in mistakes.values()
        for text in (told if isinstance(told, list) else [told])
    ]
    assert len(texts) > 300
    wrong = [t for t in map(in_page_words, texts) if FOREIGN.search(t)]
    assert not wrong, wrong


def test_no_description_of_a_field_speaks_of_file_or_terminal() -> None:
    texts = [in_page_words(field.description) for field in every_field()]
    wrong = [t for t in texts if "`" in t or "estimica " in t or re.search(r"\[\w+\]\s*table", t)]
    assert not wrong, wrong


def test_numbers_stay_in_one_line() -> None:
    assert unbroken("286.3 ± 3.6 s") == f"286.3{FIRM}±{FIRM}3.6{FIRM}s"
    long = "the value of the first parameter is 286.3 ± 3.6 kg/s and falls by 12 % when it is warm"
    assert f"286.3{FIRM}±{FIRM}3.6{FIRM}kg/s" in unbroken(long)
    assert f"12{FIRM}%" in unbroken(long)
    assert "falls by" in unbroken(long)
    table = unbroken_table(Table(("95 % from", "a"), ((1.5, "0.9 … 0.99"),)))
    assert table.columns[0] == f"95{FIRM}%{FIRM}from"
    assert table.rows == ((1.5, f"0.9{FIRM}…{FIRM}0.99"),)
