"""Optimica text as Modelica text: heads of `optimization` classes become heads of models.

Everything that is taken out is replaced by blanks, so that lines and columns stay where they were.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from estimica.base.errors import StudyError
from estimica.source.syntax import tree
from estimica.source.syntax.file import parse_modification
from estimica.source.syntax.tokens import is_name, place, unchecked_tokens

WORD = "optimization"
_SECTIONS = frozenset(["equation", "algorithm", "initial", "public", "protected", "end"])
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


@dataclass(frozen=True)
class Head:
    """`optimization NAME(arguments)`: what stands in its brackets, with its offset."""

    name: str
    arguments: tree.Modification
    text: str
    at: int


@dataclass(frozen=True)
class Translated:
    """A file with models in place of its optimization classes."""

    source: tree.Source  # of the translated text
    heads: tuple[Head, ...]


def has_optimization(text: str) -> bool:
    """Whether a text may hold an optimization class; a quick look."""
    return re.search(rf"\b{WORD}\s+[A-Za-z_]", text) is not None


def frees_parameters(text: str) -> bool:
    """Whether a text has a parameter with free = true; a quick look."""
    return re.search(r"[(,]\s*free\s*=\s*true\b", text) is not None


def translated(source: tree.Source, *, constrained: bool = False) -> Translated:
    """The text with `model` for `optimization`, and the heads; constraints are refused.

    Where classes may be `constrained`, because none of them is fitted, constraints are left out.
    """
    tokens = unchecked_tokens(source)
    letters = list(source.text)
    heads: list[Head] = []
    words, starts = tokens.texts, tokens.starts
    for i, word in enumerate(words):
        if word == WORD and is_name(words[i + 1]) and (i == 0 or words[i - 1] in (";", "partial")):
            begin = end = starts[i + 1] + len(words[i + 1])
            if words[i + 2] == "(":
                end = starts[_closed(source, words, starts, i + 2)] + 1
                begin = starts[i + 2]
            arguments = source.text[begin:end]
            read = parse_modification(arguments, source.label) if arguments else tree.Modification()
            heads.append(Head(words[i + 1], read, arguments, starts[i]))
            blank(letters, starts[i], starts[i] + len(WORD))
            letters[starts[i] : starts[i] + len("model")] = "model"
            blank(letters, begin, end)
        elif word == "constraint" and i and (words[i - 1] == ";" or words[i - 1] in _SECTIONS):
            if constrained:
                blank(letters, starts[i], starts[_next_section(words, i)])
            else:
                _without_constraints(source, words, starts, i, letters)
    return Translated(tree.Source("".join(letters), source.label), tuple(heads))


def _without_constraints(
    source: tree.Source, words: list[str], starts: list[int], i: int, letters: list[str]
) -> None:
    """An empty section of constraints is blanked; one that says something is refused."""
    if words[i + 1] in _SECTIONS:
        blank(letters, starts[i], starts[i] + len("constraint"))
        return
    stop = next(k for k in range(i + 1, len(words)) if words[k] in (";", ""))
    written = " ".join(source.text[starts[i + 1] : starts[stop]].split())
    raise StudyError(
        "Q160",
        f"{place(source, starts[i])}: the constraint '{written}' cannot be kept in a fit; bounds "
        "of parameters stand in their min and max; take the section out, and judge demands on "
        "trajectories by the criteria of a design (estimica optimise)",
    )


def _next_section(words: list[str], i: int) -> int:
    """Where the section that begins at a word ends; loops within it have ends of their own."""
    loops = ("for", "if", "when", "while")
    for k in range(i + 1, len(words) - 1):
        begins = words[k] in _SECTIONS and (words[k - 1] == ";" or k == i + 1)
        if begins and not (words[k] == "end" and words[k + 1] in loops):
            return k
    return len(words) - 1


def blank(letters: list[str], begin: int, end: int) -> None:
    """Replace what stands there by blanks, line by line."""
    for k in range(begin, end):
        if letters[k] != "\n":
            letters[k] = " "


def _closed(source: tree.Source, words: list[str], starts: list[int], i: int) -> int:
    depth = 0
    for k in range(i, len(words)):
        depth += (words[k] in _OPENING and words[k] != "") - (words[k] in _CLOSING)
        if depth == 0:
            return k
    raise StudyError("Q161", f"{place(source, starts[i])}: expected ')' for this '(', found none")


def statement_around(source: tree.Source, at: int) -> tuple[int, int]:
    """Where the declaration that an offset lies in begins and ends, its semicolon included."""
    tokens = unchecked_tokens(source)
    words, starts = tokens.texts, tokens.starts
    here = max(k for k, s in enumerate(starts) if s <= at and words[k])
    depth, k = 0, here
    while k > 0:
        before = words[k - 1]
        depth += (before in _CLOSING) - (before in _OPENING)
        if depth == 0 and (before in (";", "public", "protected") or _opens_class(words, k - 1)):
            break
        k -= 1
    begin = starts[k]
    depth, j = 0, here
    while words[j] and not (depth == 0 and words[j] == ";"):
        depth += (words[j] in _OPENING) - (words[j] in _CLOSING)
        j += 1
    return begin, starts[j] + 1


def end_of_modifiers(source: tree.Source, at: int) -> int:
    """The offset behind a component's name, subscripts and modifiers, where its value stands."""
    tokens = unchecked_tokens(source)
    words, starts = tokens.texts, tokens.starts
    k = max(k for k, s in enumerate(starts) if s <= at and words[k])
    while words[k + 1] in ("[", "("):
        k = _closed(source, words, starts, k + 1)
    return starts[k] + len(words[k])


def _opens_class(words: list[str], k: int) -> bool:
    """Whether word `k` is the name of a class, or its description, after which its body begins."""
    if k >= 1 and words[k - 1] == "model":
        return True
    return k >= 2 and words[k].startswith('"') and words[k - 2] == "model"
