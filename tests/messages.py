"""Golden tables of messages: what a room tells of each mistake, word for word.

`test_messages.py` of a room holds the mistakes, each a small input that provokes it. `messages.toml`
beside it holds, under the code of the error, each mistake with the whole message; what does not
stop the work begins with "warning: " or "note: ". `{folder}` stands for the folder in which the mistake was
made, `{here}` for that of the test. After a deliberate change of wording

    python -m tests.study.test_messages --renew

(or `tests.data`, `tests.optimise`) writes the table anew from what is told now; read the difference
before committing it.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

from estimica.base import errors
from estimica.base.errors import EstimicaError
from estimica.base.problems import Problem

#: raises the error of a mistake, or returns its problems
Provoke = Callable[[Path], object]
#: codes and messages of one mistake, in the order of the codes
Told = list[tuple[str, str]]

HEAD = """\
# What is told of each mistake of test_messages.py, under the code of the error. Written by
# `python -m {module} --renew`; do not edit by hand.
"""
#: by the first letter of the code
KINDS: Mapping[str, type[EstimicaError]] = {
    "C": errors.CaseError,
    "D": errors.DataError,
    "M": errors.ModelError,
    "O": errors.DesignError,
    "P": errors.ReportError,
    "Q": errors.StudyError,
    "S": errors.SourceError,
    "T": errors.TunerError,
}


class Messages:
    """The mistakes of a room and the table of what is told of them."""

    def __init__(self, test_file: str, mistakes: Mapping[str, Provoke]) -> None:
        self._here = Path(test_file).resolve().parent
        self._path = self._here / "messages.toml"
        self.mistakes = mistakes

    def told(self, mistake: str, folder: Path) -> Told:
        """What is told now of the mistake, made in an empty folder."""
        try:
            result = self.mistakes[mistake](folder)
        except EstimicaError as error:
            if not isinstance(error, KINDS[error.code[0]]):
                raise TypeError(f"{error.code} is told by a {type(error).__name__}") from error
            told = [(error.code, error.message)]
        else:
            problems = result if isinstance(result, list | tuple) else ()
            told = [_of_problem(p) for p in problems if isinstance(p, Problem)]
        told.sort(key=lambda pair: pair[0])  # as in the table; several of one code keep their order
        return [(code, self._portable(text, folder)) for code, text in told]

    @cached_property
    def table(self) -> dict[str, Told]:
        """What shall be told, by mistake; messages of several codes in the order of the codes."""
        content = tomllib.loads(self._path.read_text(encoding="utf-8"))
        table: dict[str, Told] = {}
        for code, mistakes in content.items():
            for mistake, texts in mistakes.items():
                for text in [texts] if isinstance(texts, str) else texts:
                    table.setdefault(mistake, []).append((code, text))
        return table

    def renew(self) -> None:
        """Write the table anew."""
        os.environ["ESTIMICA_TRUST"] = "all"  # as for all tests: mistakes bring code of their own
        by_code: dict[str, dict[str, list[str]]] = {}
        for mistake in self.mistakes:
            with tempfile.TemporaryDirectory() as folder:
                told = self.told(mistake, Path(folder).resolve())
            if not told:
                raise SystemExit(f"nothing is told of '{mistake}'; the table stays as it was")
            for code, text in told:
                by_code.setdefault(code, {}).setdefault(mistake, []).append(text)
        module = f"tests.{self._here.name}.test_messages"
        lines = [HEAD.format(module=module)]
        for code, mistakes in sorted(by_code.items()):
            lines.append(f"\n[{code}]\n")
            for mistake, texts in mistakes.items():
                value = texts[0] if len(texts) == 1 else texts
                lines.append(f"{_quoted(mistake)} = {_quoted(value)}\n")
        self._path.write_text("".join(lines), encoding="utf-8")

    def main(self) -> None:
        """The command that renews the table."""
        if sys.argv[1:] != ["--renew"]:
            raise SystemExit(f"write `python -m tests.{self._here.name}.test_messages --renew`")
        self.renew()

    def _portable(self, text: str, folder: Path) -> str:
        for path, name in ((folder, "{folder}"), (self._here, "{here}")):
            text = text.replace(str(path), name)
        return text


def _of_problem(problem: Problem) -> tuple[str, str]:
    return problem.code, f"{f'{problem.severity}: ' if problem.warning else ''}{problem.text}"


def _quoted(value: str | list[str]) -> str:
    return json.dumps(value, ensure_ascii=False)  # which is TOML too
