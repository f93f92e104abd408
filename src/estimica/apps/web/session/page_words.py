"""Page words: messages that speak of a study file or a terminal, in the words of the pages.

Messages are written once, for all who meet them. Here `write criterion = "ml" in [estimate]`
becomes `set Criterion to “ml” on the page Estimation`, and `estimica fit` the button of that name.
"""

from __future__ import annotations

import re
from functools import cache

from estimica.study.form.tables import every_field

#: tables that commands read, in the order in which an engineer meets them, and their pages
COMMAND_TABLES = {
    "release": "Release",
    "bootstrap": "Bootstrap",
    "profile": "Profile",
    "sample": "Posterior",
    "crossvalidate": "Cross-validation",
    "input_design": "Input design",
    "optimise": "Optimisation",
    "sweep": "Sweep",
    "montecarlo": "Monte Carlo",
    "backcalculate": "Back-calculation",
}
#: which page shows which table
PAGES = {
    "model": "Model",
    "tune": "Tuners",
    "columns": "Columns",
    "case": "Cases",
    "reading": "Reading of data",
    "estimate": "Estimation",
    "solver": "Solver",
    "execute": "Execution",
    "static": "Operating points",
    "criterion": "Criteria",
    "indicator": "Indicators",
    **COMMAND_TABLES,
}
#: what to look for instead of a command of the terminal
BUTTONS = {
    "fit": "“Fit”",
    "release": "“Release”",
    "find-noise": "“Find noise”",
    "bootstrap": "“Bootstrap”",
    "profile": "“Profile”",
    "sample": "“Posterior”",
    "identifiability": "“Identifiability”",
    "residuals": "“Residuals”",
    "states": "“States”",
    "predict": "“Predict”",
    "forecast": "“Forecast”",
    "monitor": "“Monitor”",
    "crossvalidate": "“Cross-validate”",
    "optimise": "“Optimise”",
    "sweep": "“Sweep”",
    "montecarlo": "“Monte Carlo”",
    "design-input": "“Design the input”",
    "backcalculate": "“Back-calculate”",
    "map": "“Fit by hand”",
    "new": "“New study”",
    "inspect": "the page Model",
    "check": "the Overview",
    "runs": "the page Runs and results",
    "use": "“Use these values”",
}
#: what only whoever sits at the terminal of the workbench can do, and is told in its words
AT_TERMINAL = ("trust", "serve")

_VALUE = (
    r'"[^"]*"|\{(?:[^{}]|\{[^{}]*\})*\}|\[[^\[\]]*\]|[+-]?[\d.][\w.+-]*|true\b|false\b|…|[\w.]+'
)
_VERBS = r"write|set|give|use|take|add|choose|put"
_PAIR = re.compile(rf"(?:\b(?P<verb>{_VERBS}) )?(?<![\w.])(?P<key>[a-z_]+) = (?P<value>{_VALUE})")
_BARE = re.compile(rf"\b(?:{_VERBS}) \{{(?P<inner>(?:[^{{}}]|\{{[^{{}}]*\}})*)\}}")
_TABLE = "|".join(PAGES)
_COMMAND = re.compile(r"`estimica ([a-z-]+)([^`]*)`|\(estimica ([a-z-]+)\)")
#: clauses about what only a terminal offers; the rest of the sentence stands alone
_CLAUSES = tuple(
    (re.compile(pattern), instead)
    for pattern, instead in (
        (r",? or (?:give another file|name the file itself) with --store", ""),
        (r"; give (?:another file|a file [^;]*) with --store", ""),
        (r", then take up the run with --resume: what was done is kept", ", then begin again"),
        (r" without --resume", ""),
        (r", or --fit RUN", ", or begin from the page of a fit"),
        (r" with `estimica runs delete`", " at a terminal"),
        (r", `estimica runs` lists all", ""),
        (r"install it with: pip install '([^']+)'", r"ask for \1 where the workbench runs"),
        (r", or: pip install \w+", ""),
        (r", in quotes\b", ""),
        (
            r"\[columns\] (\S+) says so for all cases: write .* in this case where it is called "
            r"otherwise, or without = \S+ where there is none",
            r"all cases take \1 from it: choose another column on the page of this case, or leave "
            "it out there",
        ),
        (r"\[tune\] (\S+?):", r"tuner \1:"),
        (r"\[\[(case|criterion|indicator)\]\] (\d+)", r"\1 \2"),
        (r",? or a table \{(?:[^{}]|\{[^{}]*\})*\}", ", or its single fields"),
        (r"\bwrite a table \{(?:[^{}]|\{[^{}]*\})*\}", "fill in its single fields"),
        (r"\ba table \{(?:[^{}]|\{[^{}]*\})*\}", "a group of fields"),
        (rf"(?<!in )(?<!\w)\[+({_TABLE})\]+ (?=[a-z_]+ = )", r"in [\1] set "),
        (rf"the \[+({_TABLE})\]+ table", r"[\1]"),
        (rf"write \[+({_TABLE})\]+ and (\w+ = )", r"in [\1] write \2"),
        (rf"\badd an? \[+({_TABLE})\]+ with", r"add one in [\1] with"),
        (rf"\bgive an? \[+({_TABLE})\]+ with", r"add one in [\1] with"),
        (rf"write \[+({_TABLE})\]+ with two brackets: there may be several", r"add it in [\1]"),
    )
)


def in_page_words(text: str) -> str:
    """A message as a page says it: fields, pages and buttons in place of keys and commands."""
    for pattern, instead in _CLAUSES:
        text = pattern.sub(instead, text)
    text = re.sub(rf"\[+({_TABLE})\]+: ", lambda m: f"{PAGES[m[1]]}: ", text)
    text = _COMMAND.sub(_button, text)
    text = _BARE.sub(lambda m: f"set {_pairs(m['inner'], ' to ', ' and ')}", text)
    text = _PAIR.sub(_pair, text)
    text = re.sub(r"\{ ([^{}]*: [^{}]*) \}", r"\1", text)
    text = re.sub(
        rf"\b(?:in|to|into|of) \[+({_TABLE})\]+", lambda m: f"on the page {PAGES[m[1]]}", text
    )
    text = re.sub(rf"(?<!\w)\[+({_TABLE})\]+ ([a-z_]+)\b", _field_of_page, text)
    text = re.sub(rf"(?<!\w)\[+({_TABLE})\]+", lambda m: f"the page {PAGES[m[1]]}", text)
    text = re.sub(r"`([^`]+)`", lambda m: f"“{_labels().get(m[1], m[1]).strip(chr(34))}”", text)
    return re.sub(r"(?<![\w-])--([a-z-]+)", r"“\1”", text)


def page_title(table: str) -> str:
    """What the page of a table is called."""
    return PAGES.get(table, table)


@cache
def _labels() -> dict[str, str]:
    """The label of every field by its key."""
    return {field.name: field.label for field in every_field() if field.name.isidentifier()}


def _button(match: re.Match[str]) -> str:
    name = match[1] or match[3]
    if name in AT_TERMINAL or name not in BUTTONS:
        return match[0]
    return f"({BUTTONS[name]})" if match[3] else BUTTONS[name]


def _pair(match: re.Match[str]) -> str:
    """`write key = value` as what is done to the field of that label."""
    label, value = _labels().get(match["key"]), match["value"]
    if label is None and value.startswith("{"):  # a name of the user's own, with fields
        return f"of {match['key']} set {_pairs(value[1:-1], ' to ', ' and ')}"
    if label is None:
        return match[0]
    if value in ("true", "false"):
        switch = f"{label} {'on' if value == 'true' else 'off'}"
        return f"switch {switch}" if match["verb"] else switch
    return f"set {label} to {_shown(value)}" if match["verb"] else f"{label}: {_shown(value)}"


def _shown(value: str) -> str:
    if value.startswith('"'):
        return f"“{value.strip(chr(34))}”"
    if value.startswith("{"):
        return _pairs(value[1:-1], " ", ", ")
    return value.strip("[] ")


def _pairs(inner: str, between: str, join: str) -> str:
    """The entries of a table, by the labels of their fields."""
    shown = []
    for entry in re.split(r",(?![^{\[]*[}\]])", inner):
        key, equals, value = entry.partition("=")
        word = _labels().get(key.strip(), key.strip())
        shown.append(f"{word}{between}{_shown(value.strip())}" if equals else entry.strip())
    return join.join(shown)


def _field_of_page(match: re.Match[str]) -> str:
    label = _labels().get(match[2])
    page = f"the page {PAGES[match[1]]}"
    return f"{page} {match[2]}" if label is None else f"{label} on {page}"
