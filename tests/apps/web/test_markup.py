"""Markup: what a page could take for a program is a constant everywhere but in one file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import estimica.apps.web as web
from estimica.apps.web.live.outgoing import outgoing

FOLDER = Path(web.__file__).parent
HELPER = "markup.py"
#: calls whose texts NiceGUI reads as properties, HTML, styles, templates or JavaScript
READ = {
    "props", "default_props", "html", "add_slot", "run_javascript", "run_method", "style",
    "default_style", "add_head_html", "add_body_html", "add_css", "add_scss", "add_sass",
    "markdown", "restructured_text", "mermaid", "interactive_image", "chat_message", "get_computed_prop",
    "echart", "highchart", "aggrid", "json_editor", "leaflet", "scene", "xterm", "call_method",
}  # fmt: skip
HANDLERS = {"js_handler", "template"}
#: properties that a browser runs, loads or parses
RUN = ("on", ":", "v-", "innerhtml", "srcdoc", "style", "formaction")


def findings(text: str) -> list[str]:
    """What is not constant where it should be."""
    tree = ast.parse(text)
    constants = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and _is_constant(node.value, set())
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return [f"{line}: {what}" for line, what in _wrong(tree, constants)]


def _wrong(tree: ast.AST, constants: set[str]) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            values = list(node.args) if name in READ else []
            values += [
                k.value
                for k in node.keywords
                if k.arg in HANDLERS or (name in READ and k.arg not in ("sanitize", "shared"))
            ]
            if not all(_is_constant(v, constants) for v in values):
                yield node.lineno, ast.unparse(node)[:80]
        if isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("props"):
            key = node.slice
            known = isinstance(key, ast.Constant) and isinstance(key.value, str)
            if not known or str(ast.literal_eval(key)).lower().startswith(RUN):
                yield node.lineno, ast.unparse(node)
        if isinstance(node, ast.Attribute) and node.attr in ("_slots", "innerHTML"):
            yield node.lineno, ast.unparse(node)


def _is_constant(node: ast.expr, constants: set[str]) -> bool:
    if isinstance(node, ast.IfExp):
        return _is_constant(node.body, constants) and _is_constant(node.orelse, constants)
    if isinstance(node, ast.Name):
        return node.id in constants
    return isinstance(node, ast.Constant)


@pytest.mark.parametrize(
    "path", sorted(FOLDER.rglob("*.py")), ids=lambda p: p.relative_to(FOLDER).as_posix()
)
def test_pages_give_values_as_data(path: Path) -> None:
    if path.name != HELPER:
        assert findings(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "line",
    [
        "x.props(f'aria-label=\"{name}\"')",
        "x.props('a' + name)",
        "x.props('a %s' % name)",
        "x.props('a {}'.format(name))",
        "x.props(name)",
        "x.props(add=name)",
        "x.props('\\n'.join(names))",
        "ui.html(f'<b>{name}</b>', sanitize=False)",
        "x.add_slot('body', name)",
        "x.add_slot('body', template=f'{name}')",
        "ui.run_javascript('go(' + name + ')')",
        "page.run_javascript(name)",
        "ui.add_head_html(f'<title>{name}')",
        "x.on('click', js_handler=f'() => {name}')",
        "x.props[name] = 1",
        "x.props[':label'] = name",
        "x.props['onClick'] = name",
        "x._props['innerHTML'] = name",
        "x.props(A if b else name)",
        "x.style(f'color: {name}')",
        "ui.markdown(name)",
    ],
)
def test_what_would_be_a_program_is_found(line: str) -> None:
    assert findings(f"A = 'flat'\n{line}\n")


@pytest.mark.parametrize(
    "line",
    [
        "x.props('flat dense')",
        "x.props(A)",
        "x.props('a' if b else 'c')",
        "x.props['aria-label'] = f'{name}'",
        "x.on('click', js_handler=A)",
        "with x.add_slot('header'): pass",
    ],
)
def test_what_is_data_is_not(line: str) -> None:
    assert findings(f"A = 'flat'\n{line}\n") == []


def test_what_leaves_for_a_page_is_visible_and_no_object_of_vue() -> None:
    raw = {
        "text": {"__v_isVNode": True, "type": "img", "props": {"innerHTML": "\x1b"}},
        "a\0": ["\u202e", ("x", 1, None, True, 2.5)],
        3: "line\n",
    }
    assert outgoing(raw) == {
        "text": {"type": "img", "props": {"innerHTML": "\\u001b"}},
        "a\\u0000": ["\\u202e", ["x", 1, None, True, 2.5]],
        3: "line\n",
    }
