"""The page of all error codes, made when the site is built: the messages as they stand in the
source, and from error-codes.toml what to do about each."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
PAGE = "error-codes.md"
MARK = "<!-- codes -->"
CURES = DOCS / "error-codes.toml"
SOURCE = DOCS.parent / "src" / "estimica"
CODE = re.compile(r"[A-Z]\d{3}")
#: files without such a text are not parsed
QUICK = re.compile(r"""["'][A-Z]\d{3}["']|(error|warning) [A-Z]\d{3}:""")
#: a code within a message that is put together by hand
WRITTEN = re.compile(r"(?:error|warning) ([A-Z]\d{3}): (.*)", re.DOTALL)
#: what stands for a value in a message
VALUE = "…"
#: shorter pieces of text are glue, such as ", " in a join
SHORTEST = 8


@dataclass
class Code:
    """A code with the messages that the source has for it."""

    code: str
    messages: list[str] = field(default_factory=list)

    def add(self, message: str) -> None:
        """Keep a message unless it says nothing or is there already."""
        plain = re.sub(rf"[\s{VALUE}'\":;,()]", "", message)
        if len(plain) >= SHORTEST and message not in self.messages:
            self.messages.append(message)


@cache
def codes(folder: Path = SOURCE) -> dict[str, Code]:
    """Every code of the source, in order, with its messages."""
    by_code: dict[str, Code] = {}
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if QUICK.search(text):
            for code, message in _uses(ast.parse(text)):
                by_code.setdefault(code, Code(code)).add(message)
    return dict(sorted(by_code.items()))


@dataclass(frozen=True)
class Room:
    """The codes of one letter: what they are about, causes and cures."""

    letter: str
    title: str
    about: str
    codes: Mapping[str, str]
    cause: Mapping[str, str] = field(default_factory=dict)


def rooms() -> list[Room]:
    """What error-codes.toml says."""
    tables = tomllib.loads(CURES.read_text(encoding="utf-8"))
    return [Room(letter, **table) for letter, table in tables.items()]


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    """Put the codes into their page; MkDocs calls this for every page."""
    return with_codes(markdown) if page.file.src_uri == PAGE else markdown


def with_codes(markdown: str) -> str:
    """The text of the page with all codes in it."""
    known = codes()
    parts = [part for room in rooms() for part in _section(room, known)]
    return markdown.replace(MARK, "\n\n".join(parts))


def _section(room: Room, known: Mapping[str, Code]) -> Iterator[str]:
    yield f"## {room.letter}: {room.title}"
    yield room.about
    for code, cure in room.codes.items():
        yield f"### {code} {{ .code }}"
        if code in room.cause:
            yield room.cause[code]
        messages = known[code].messages if code in known else []
        if messages:
            yield "\n".join(f"- {_literal(m)}" for m in messages)
        yield f"*What to do:* {cure}"


def _literal(message: str) -> str:
    text = " ".join(message.split())
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _uses(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Codes with the message beside them; "" where only the code is used."""
    constants = _assigned(tree.body)
    named = {
        name: value.value
        for name, value in constants.items()
        if isinstance(value, ast.Constant) and _is_code(value)
    }
    waiting: list[tuple[ast.AST, ast.AST]] = [(tree, tree)]
    local: dict[ast.AST, Mapping[str, ast.expr]] = {tree: constants}
    while waiting:
        node, scope = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            scope = node
        for code, parts in _beside(node, named):
            if scope not in local:
                local[scope] = {**constants, **_assigned(getattr(scope, "body", []))}
            texts = [t for p in parts if (t := _text(p, local[scope]))]
            yield code, "; ".join(texts)
        waiting.extend((child, scope) for child in reversed([*ast.iter_child_nodes(node)]))


def _beside(node: ast.AST, named: Mapping[str, str]) -> Iterator[tuple[str, list[ast.expr]]]:
    """A code and the arguments after it, in a call, a tuple or a table."""
    match node:
        case ast.Call():
            parts = [*node.args, *(k.value for k in node.keywords)]
        case ast.Tuple():
            parts = list(node.elts)
        case ast.Dict():
            parts = list(node.values)
        case ast.Constant() if _is_code(node):
            yield str(node.value), []
            return
        case ast.JoinedStr(values=[ast.Constant(value=str(text)), *rest]):
            if written := WRITTEN.match(text):
                yield written[1], [ast.JoinedStr([ast.Constant(written[2]), *rest])]
            return
        case _:
            return
    for place, part in enumerate(parts):
        if isinstance(part, ast.Constant) and _is_code(part):
            yield str(part.value), parts[place + 1 :]
        elif isinstance(part, ast.Name) and part.id in named:
            yield named[part.id], parts[place + 1 :]
        elif isinstance(part, ast.IfExp):
            for each in (part.body, part.orelse):
                if isinstance(each, ast.Constant) and _is_code(each):
                    yield str(each.value), parts[place + 1 :]


def _is_code(node: ast.Constant) -> bool:
    return isinstance(node.value, str) and CODE.fullmatch(node.value) is not None


def _text(node: ast.expr | None, local: Mapping[str, ast.expr]) -> str:
    """The text of an expression, its values as "…"; "" where it is not a text."""
    match node:
        case ast.Constant(value=str(text)) if not CODE.fullmatch(text):
            return text
        case ast.JoinedStr():
            return "".join(_text(v, local) or VALUE for v in node.values)
        case ast.FormattedValue(value=ast.Name(id=name)) if name in local:
            text = _text(local[name], {})
            return text if len(text) >= SHORTEST else VALUE
        case ast.FormattedValue(value=value):
            text = _text(value, {}) if isinstance(value, ast.IfExp) else ""
            return text if len(text) >= SHORTEST else VALUE
        case ast.BinOp(op=ast.Add()):
            left, right = _text(node.left, local), _text(node.right, local)
            return f"{left or VALUE}{right or VALUE}" if left or right else ""
        case ast.IfExp():
            return _text(node.body, local) or _text(node.orelse, local)
        case ast.Name(id=name) if name in local:
            return _text(local[name], {})
    return ""


def _assigned(statements: list[ast.stmt]) -> dict[str, ast.expr]:
    """What names are first set to."""
    values: dict[str, ast.expr] = {}
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                values.setdefault(node.targets[0].id, node.value)
    return values
