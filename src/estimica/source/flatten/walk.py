"""The instance tree, walked once: all scalars and all sections of the model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from estimica.base.suggest import did_you_mean
from estimica.flat.system import Kind
from estimica.source.instance.classes import Class
from estimica.source.instance.components import Component
from estimica.source.instance.modifiers import ATTRIBUTES
from estimica.source.instance.place import error_at
from estimica.source.limits import check_limits
from estimica.source.syntax import tree


@dataclass(frozen=True, slots=True, eq=False)
class PlacedSection:
    """A section of a class, in the component that is an instance of it."""

    section: tree.Section
    scope: Class
    instance: Component


@dataclass(slots=True)
class Parts:
    """What a model is made of."""

    leaves: list[Component] = field(default_factory=list)
    changing_texts: list[Component] = field(default_factory=list)  # which the run has not
    objects: list[Component] = field(default_factory=list)  # external objects
    sections: list[PlacedSection] = field(default_factory=list)
    instances: list[Component] = field(default_factory=list)  # those with members, one by one
    checked: set[tree.ClassDefinition] = field(
        default_factory=set
    )  # whose modifiers were looked at


def parts_of(model: Component) -> Parts:
    """All parts of a model, in the order of their declarations."""
    parts = Parts()
    _enter(model, parts)
    return parts


def visit(component: Component, parts: Parts) -> None:
    """Add a component and all that is in it."""
    if component.is_outer and not component.is_inner:
        if component.present and not component.type.is_partial:
            component.actual()  # where none is declared, one is made: it belongs to the model
        return
    if not component.present:
        return
    if component.leaf is not None:
        _check_attributes(component)
        is_text = component.leaf.kind is Kind.STRING
        changes = component.variability not in ("parameter", "constant")
        (parts.changing_texts if is_text and changes else parts.leaves).append(component)
        return
    if component.type.is_external_object:
        parts.objects.append(component)
        return
    for element in component.elements():
        _enter(element, parts)


def _enter(instance: Component, parts: Parts) -> None:
    check_limits()
    cls = instance.class_
    _check_depth(instance)
    _check_whole(instance)
    parts.instances.append(instance)
    _check_members(cls)
    for child in cls.components():
        visit(child, parts)
    seen: set[tree.ClassDefinition] = set()
    for ancestor in cls.ancestors():
        if ancestor.definition not in parts.checked:
            parts.checked.add(ancestor.definition)
            _check_inherited(ancestor)
            _check_doubles(ancestor)
        body = ancestor.body
        if body is None or ancestor.definition in seen:
            continue
        seen.add(ancestor.definition)
        parts.sections += [PlacedSection(s, ancestor, instance) for s in body.sections]


#: components in components beyond this are a class that contains itself
DEEPEST = 100


def _check_depth(instance: Component) -> None:
    depth = 0
    parent: Component | None = instance
    while parent is not None:
        depth += 1
        parent = parent.parent
    if depth > DEEPEST:
        raise error_at(
            "S081",
            instance.owner,
            instance.declaration.at,
            f"class {instance.type.name} contains a component of itself; take it out",
        )


def _check_whole(instance: Component) -> None:
    """A partial class lacks something that only a class made of it has.

    The model itself may be one: what is left open in a component without its law may be measured.
    """
    if instance.is_root or not instance.type.is_partial:
        return
    raise error_at(
        "S087",
        instance.owner,
        instance.declaration.at,
        f"'{instance.path}' is of class {instance.type.name}, which is partial; redeclare it with "
        "one that extends that class",
    )


def _check_members(cls: Class) -> None:
    """Every modifier must be of something that is there."""
    for name, modifiers in cls.modifiers.members.items():
        if modifiers.soft or cls.find(name) is not None:
            continue
        if modifiers.scope is None:
            continue
        raise error_at(
            "S082",
            modifiers.scope,
            modifiers.at,
            f"class {cls.name} has no '{name}' that could be modified"
            f"{did_you_mean(name, cls.member_names())}",
        )


def _check_inherited(ancestor: Class) -> None:
    """Every modifier of an extends clause or short class must be of something that is there."""
    for base, modification in ancestor.written_of_bases():
        if modification is None or base.leaf() is not None:
            continue
        for argument in modification.arguments:
            if isinstance(argument, tree.Break):
                continue
            if isinstance(argument, tree.Modifier):
                name = argument.path[0]
            else:
                name = argument.element.name
            if base.find(name) is None:
                raise error_at(
                    "S082",
                    ancestor,
                    argument.at,
                    f"class {base.name} has no '{name}' that could be modified"
                    f"{did_you_mean(name, base.member_names())}",
                )


def _check_doubles(cls: Class) -> None:
    """What is declared in a class and in its bases, or in two of them, is the same thing."""
    if len(cls.bases) + bool(cls.body and cls.body.components) < 2:
        return
    known: dict[str, Component] = {}
    own = [c for c in cls.components() if c.owner is cls]
    for component in (*own, *(c for base in cls.bases for c in base.components())):
        first = known.setdefault(component.name, component)
        if first is not component and not _are_alike(first, component):
            raise error_at(
                "S086",
                component.owner,
                component.declaration.at,
                f"'{component.name}' is declared again in class {first.owner.name}, as something "
                "else; give one of them another name",
            )


def _are_alike(a: Component, b: Component) -> bool:
    if a.leaf is None or b.leaf is None:
        return (a.leaf is None) == (b.leaf is None)
    same = a.leaf.kind is b.leaf.kind and a.variability == b.variability
    return same and len(a.declared_dimensions) == len(b.declared_dimensions)


#: attributes of Optimica, which say what is to be found and where to begin: files of JModelica.org
#: have them; a study says so in its tuners, and for the equations they mean nothing
OPTIMICA = frozenset({"free", "initialGuess"})


def _check_attributes(component: Component) -> None:
    changes = component.changes
    for name, modifiers in changes.members.items():
        if name in ATTRIBUTES or name in OPTIMICA or modifiers.soft or modifiers.scope is None:
            continue
        raise error_at(
            "S082",
            modifiers.scope,
            modifiers.at,
            f"'{component.path}' is a {component.type.name}, which has no attribute '{name}'"
            f"{did_you_mean(name, ATTRIBUTES)}",
        )


def contains_connections(nodes: tuple[tree.Equation, ...]) -> bool:
    """Whether equations hold connect or Connections.… at any depth."""
    return any(_is_connection(n) for n in _all_equations(nodes))


def _is_connection(node: tree.Equation) -> bool:
    if isinstance(node, tree.Connect):
        return True
    return isinstance(node, tree.CallEquation) and node.call.function.parts[0].name == "Connections"


def _all_equations(nodes: tuple[tree.Equation, ...]) -> Iterator[tree.Equation]:
    for node in nodes:
        yield node
        if isinstance(node, tree.For):
            yield from _all_equations(node.body)
        elif isinstance(node, tree.If):
            for _, body in node.branches:
                yield from _all_equations(body)
