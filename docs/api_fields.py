"""What the API reference reads beside docstrings: descriptions of fields, which stand in
`Annotated[…, Field(description=…)]` or in a comment behind the field."""

from __future__ import annotations

import ast
import re
from typing import Any

from griffe import Attribute, Class, Docstring, ExprName, ExprSubscript, ExprTuple, Extension


class FieldDescriptions(Extension):
    """Makes a table of a dataclass's fields, with their types but without what checks them."""

    def on_class_instance(self, *, cls: Class, **kwargs: Any) -> None:
        """Take pydantic's dataclasses for dataclasses, so that they have a signature.

        Results have none: nobody makes one by hand.
        """
        if any(str(base) == "Result" for base in cls.bases):
            cls.decorators = [d for d in cls.decorators if not str(d.value).startswith("dataclass")]
        for decorator in cls.decorators:
            function = getattr(decorator.value, "function", decorator.value)
            if getattr(function, "canonical_path", "") == "pydantic.dataclasses.dataclass":
                decorator.value.function = ExprName("dataclasses.dataclass")
                cls.extra["estimica"]["made_by_users"] = True

    def on_class_members(self, *, cls: Class, **kwargs: Any) -> None:
        """Write the fields into the docstring of their class, as one table."""
        fields = [a for a in cls.members.values() if isinstance(a, Attribute) and _is_field(a)]
        if not fields or cls.docstring is None:
            return
        title = "Parameters" if cls.extra["estimica"].get("made_by_users") else "Attributes"
        rows = [f"    {a.name}: {' '.join(a.docstring.value.split())}" for a in fields]  # type: ignore[union-attr]
        cls.docstring.value += "\n\n" + "\n".join([f"{title}:", *rows])
        for attribute in fields:
            attribute.docstring = None  # which takes its section of its own away

    def on_attribute_instance(
        self, *, node: Any, attr: Attribute, agent: Any, **kwargs: Any
    ) -> None:
        """Describe one field."""
        if attr.docstring is None and isinstance(node, ast.AnnAssign):
            text = _described(node.annotation) or _comment(node, agent)
            if text:
                attr.docstring = Docstring(_sentence(text), parent=attr)
        attr.annotation = _plain(attr.annotation)


def _is_field(attribute: Attribute) -> bool:
    named = attribute.docstring is not None and not attribute.name.startswith("_")
    return named and "property" not in attribute.labels and "ClassVar" not in attribute.labels


def _described(annotation: ast.expr) -> str:
    """The description that a `Field(…)` within the annotation has."""
    for node in ast.walk(annotation):
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                value = keyword.value
                if keyword.arg == "description" and isinstance(value, ast.Constant):
                    return str(value.value)
    return ""


def _comment(node: ast.AnnAssign, agent: Any) -> str:
    """The comment behind the field, or the `#:` lines above it."""
    lines = agent.code.splitlines()
    _, mark, behind = lines[(node.end_lineno or node.lineno) - 1].partition("  # ")
    if mark and not behind.startswith(("type:", "noqa")):
        return behind.strip()
    above: list[str] = []
    for line in reversed(lines[: node.lineno - 1]):
        if not line.strip().startswith("#:"):
            break
        above.insert(0, line.strip()[2:].strip())
    return " ".join(above)


def _sentence(text: str) -> str:
    if re.fullmatch(r"\S{1,5}", text):  # a unit, as "s" or "rad/s"
        return f"In {text}."
    return text[0].upper() + text[1:] + ("" if text[-1] in ".?!:" else ".")


def _plain(annotation: Any) -> Any:
    """`T` of `Annotated[T, …]`."""
    while isinstance(annotation, ExprSubscript) and str(annotation.left) == "Annotated":
        inside = annotation.slice
        annotation = inside.elements[0] if isinstance(inside, ExprTuple) else inside
    return annotation
