"""Classes as they are where they are used: a definition, its surroundings, and modifiers.

The same definition makes many classes: a package in one model may have a medium redeclared that
it has not in another. Names are looked up in the class as it is (chapters 5 and 7 of the language
specification); everything is found on demand and remembered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimica.base.suggest import did_you_mean, misspelt
from estimica.flat.system import Kind
from estimica.source.instance import predefined
from estimica.source.instance.modifiers import (
    NONE,
    Modifiers,
    Replacement,
    merged,
    overridden,
    written,
)
from estimica.source.instance.place import error_at
from estimica.source.syntax import tree

if TYPE_CHECKING:
    from estimica.source.instance.components import Component
    from estimica.source.instance.world import World

Element = "Component | Class"


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """What a class is that is a scalar type in the end: Real with a unit, an enumeration, …."""

    kind: Kind
    modifiers: Modifiers  # attributes
    dimensions: tuple[tuple[tree.Expression, Class], ...]
    type: Class  # the predefined type or enumeration itself
    causality: str
    connection: str


class Class:
    """A definition in an environment."""

    __slots__ = (
        "_bases",
        "_imports",
        "_leaf",
        "_members",
        "_order",
        "_own",
        "_resolving",
        "_types",
        "component",
        "definition",
        "extended",
        "modifiers",
        "outer",
        "world",
    )

    def __init__(
        self,
        definition: tree.ClassDefinition,
        outer: Class | None,
        modifiers: Modifiers,
        world: World,
        component: Component | None = None,
        extended: Class | None = None,
    ) -> None:
        self.definition = definition
        self.outer = outer
        self.modifiers = modifiers
        self.world = world
        self.component = component  # whose class this is, or a base class of it
        self.extended = extended  # of `redeclare model extends A`: the A that it extends
        self._own: dict[str, tree.Component | tree.ClassDefinition] | None = None
        self._bases: list[Class] = []
        self._resolving: bool | None = None  # None: bases not looked at yet
        self._members: dict[str, Component | Class | None] = {}
        self._imports: dict[str, Component | Class | None] = {}
        self._types: dict[tree.TypeName, Class] = {}
        self._leaf: Leaf | bool | None = None
        self._order: list[str] | None = None

    def again(self) -> Class:
        """The same once more, for the model to be an instance of it."""
        return Class(self.definition, self.outer, self.modifiers, self.world, None, self.extended)

    # --- what it is ----------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Its name with those of the packages around it."""
        names = [self.definition.name]
        outer = self.outer
        while outer is not None and outer.outer is not None:
            names.append(outer.definition.name)
            outer = outer.outer
        return ".".join(reversed(names))

    def __repr__(self) -> str:
        return f"<class {self.name}>"

    @property
    def body(self) -> tree.Body | None:
        """What stands in it."""
        return self.definition.body

    def is_a(self, *words: str) -> bool:
        """Whether it is declared as one of these kinds, itself or through its bases."""
        if self.definition.word in words:
            return True
        if self.definition.word in ("class", "type") or self.definition.short is not None:
            return any(b.is_a(*words) for b in self.bases)
        return False

    @property
    def is_record(self) -> bool:
        """Whether its instances are records."""
        return self.is_a("record", "operator record")

    @property
    def is_expandable(self) -> bool:
        """Whether it is an expandable connector."""
        return self.is_a("expandable connector")

    @property
    def is_external_object(self) -> bool:
        """Whether its instances are objects of external functions."""
        return self.definition is predefined.EXTERNAL_OBJECT or any(
            b.is_external_object for b in self.bases
        )

    @property
    def is_partial(self) -> bool:
        """Whether something is missing in it."""
        short = self.definition.short
        return self.definition.partial or (short is not None and self.bases[0].is_partial)

    def ancestors(self) -> Iterator[Class]:
        """The class itself and all it inherits from, bases before the class."""
        for base in self.bases:
            yield from base.ancestors()
        yield self

    def root_definition(self) -> tree.ClassDefinition:
        """The definition behind short classes that only give another name."""
        cls = self
        while cls.definition.short is not None and cls.bases:
            cls = cls.bases[0]
        return cls.definition

    def leaf(self) -> Leaf | None:
        """The scalar type that it is, None for a class with members."""
        if self._leaf is None:
            self._leaf = False
            self._leaf = self._as_leaf() or False
        return self._leaf if isinstance(self._leaf, Leaf) else None

    def _as_leaf(self) -> Leaf | None:
        definition = self.definition
        kind = predefined.KIND_OF.get(definition)
        if definition.literals is not None or definition.open_enumeration:
            kind = Kind.ENUMERATION
        if definition is predefined.CLOCK:
            kind = Kind.BOOLEAN
        if kind is not None:
            return Leaf(kind, self.modifiers, (), self, "", "")
        if definition.word in ("package", "function", "operator", "operator record"):
            return None
        for base in self.bases:
            inner = base.leaf()
            if inner is None:
                continue
            short = definition.short
            dimensions = inner.dimensions
            causality, connection = inner.causality, inner.connection
            if short is not None:
                dimensions = (*((d, self._around()) for d in short.dimensions), *dimensions)
                words = short.prefix.split()
                causality = next((w for w in words if w in ("input", "output")), causality)
                connection = next((w for w in words if w in ("flow", "stream")), connection)
            return Leaf(inner.kind, inner.modifiers, dimensions, inner.type, causality, connection)
        return None

    @property
    def literals(self) -> tuple[str, ...]:
        """The names of an enumeration's values."""
        return tuple(n for n, _ in self.definition.literals or ())

    def dimensions(self) -> tuple[tuple[tree.Expression, Class], ...]:
        """The sizes that short classes give it: `type Frames = Frame[3]`."""
        leaf = self.leaf()
        if leaf is not None:
            return leaf.dimensions
        short = self.definition.short
        if short is None or not self.bases:
            return ()
        own = tuple((d, self._around()) for d in short.dimensions)
        return (*own, *self.bases[0].dimensions())

    def _around(self) -> Class:
        """Where the names in its head are looked up."""
        return self.outer or self

    # --- bases ---------------------------------------------------------------------------------

    @property
    def bases(self) -> list[Class]:
        """What it inherits from, with the modifiers of the extends clauses and of outside."""
        if self._resolving is None:
            self._resolving = True
            try:
                self._find_bases()
            finally:
                self._resolving = False
                self._members = {k: m for k, m in self._members.items() if m is not None}
        return self._bases

    def _find_bases(self) -> None:
        definition = self.definition
        if definition.short is not None:
            short = definition.short
            target = self._around().find_type(short.type)
            self._bases.append(self._base(target, written(short.modification, self._around())))
            return
        if definition.derivative is not None:
            return
        body = self.body
        if body is None:
            return
        if self.extended is not None:
            inner = written(definition.modification, self)
            self._bases.append(self._base(self.extended, inner))
        for clause in body.extends:
            target = self.find_type(clause.type)
            self._check_circle(target, clause)
            inner = written(clause.modification, self)
            self._bases.append(self._base(target, inner))

    def written_of_bases(self) -> Iterator[tuple[Class, tree.Modification | None]]:
        """Each of its bases with the modifiers that are written beside it."""
        bases = self.bases
        if self.definition.short is not None:
            yield bases[0], self.definition.short.modification
            return
        if self.extended is not None:
            yield bases[0], self.definition.modification
            bases = bases[1:]
        for base, clause in zip(bases, self.body.extends if self.body else (), strict=True):
            yield base, clause.modification

    def _check_circle(self, target: Class, clause: tree.Extends) -> None:
        if target.definition is self.definition and self.extended is None:
            raise error_at(
                "S061", self, clause.at, f"'{self.definition.name}' extends itself; leave it out"
            )
        if self.world.depth_of(self) > MOST_BASES:
            raise error_at(
                "S045",
                self,
                clause.at,
                f"the chain of extends is longer than {MOST_BASES}, or a circle; shorten it",
            )

    def _base(self, target: Class, inner: Modifiers) -> Class:
        if self.component is not None and self.component.has_value:
            inner = overridden(inner)
        changes = merged(self._passed_on(), inner)
        base = Class(
            target.definition,
            target.outer,
            merged(changes, target.modifiers),
            self.world,
            self.component,
            target.extended,
        )
        self.world.note_depth(base, self)
        return base

    def _passed_on(self) -> Modifiers:
        """What goes on to the bases: modifiers of inherited elements, own redeclarations."""
        # of an element that is declared here and in a base alike, both are changed alike
        changes = self.modifiers
        redeclared: dict[str, Modifiers] = {}
        body = self.body
        if body is not None:
            for element in elements_of(body):
                if redeclares(element):
                    redeclared[element.name] = Modifiers(
                        replacement=Replacement(element, self), at=element.at, scope=self
                    )
        if not redeclared:
            return changes
        return merged(changes, Modifiers(redeclared, scope=self))

    # --- members -------------------------------------------------------------------------------

    def _elements(self) -> dict[str, tree.Component | tree.ClassDefinition]:
        """What it declares itself, by name; what it only redeclares belongs to a base."""
        if self._own is None:
            body = self.body
            self._own = {}
            if body is not None:
                left_out = self.modifiers.left_out
                for element in elements_of(body):
                    if not redeclares(element) and element.name not in left_out:
                        if element.name in self._own:
                            raise error_at(
                                "S086",
                                self,
                                element.at,
                                f"'{element.name}' is declared twice; leave one out",
                            )
                        self._own[element.name] = element
        return self._own

    def find(self, name: str) -> Component | Class | None:
        """The member `name`, its own or an inherited one."""
        known = self._members.get(name)
        if known is not None or (name in self._members and self._resolving is False):
            return known
        found = self._own_member(name)
        if found is None:
            for base in list(self.bases):
                found = base.find(name)
                if found is not None:
                    break
        self._members[name] = found
        return found

    def _own_member(self, name: str) -> Component | Class | None:
        element = self._elements().get(name)
        if element is None:
            stored = self.world.table.stored(self.definition, name)
            if stored is None:
                return None
            return self._class_member(stored)
        if isinstance(element, tree.ClassDefinition):
            return self._class_member(element)
        return self.world.component(self, element)

    def _class_member(self, definition: tree.ClassDefinition) -> Class:
        if definition.prefixes.outer:
            inner = self.world.inner_class(self, definition.name)
            if inner is not None:
                return inner
        modifiers = self.modifiers.of(definition.name)
        return self._replaced(definition, modifiers.only_members(), modifiers.replacement)

    def _replaced(
        self,
        definition: tree.ClassDefinition,
        modifiers: Modifiers,
        replacement: Replacement | None,
    ) -> Class:
        """The class that `definition` is here, after redeclarations."""
        if replacement is None:
            kept = beneath(own_constraint(definition, self), definition, self)
            return aliased(Class(definition, self, merged(modifiers, kept), self.world))
        element = replacement.element
        if not isinstance(element, tree.ClassDefinition):
            raise error_at(
                "S064",
                replacement.scope,
                element.at,
                f"'{element.name}' is a class; it cannot be redeclared as a component",
            )
        if element.extends_itself:
            extended = self._replaced(definition, NONE, replacement.replaced)
            return Class(element, replacement.scope, modifiers, self.world, None, extended)
        kept = constraining_modifiers(definition, self)
        for one in reversed([*replacement.chain()]):
            kept = merged(own_constraint(one.element, one.scope), kept)
        kept = beneath(kept, element, replacement.scope)
        return aliased(Class(element, replacement.scope, merged(modifiers, kept), self.world))

    def declares_inner_class(self, name: str) -> bool:
        """Whether parts below may refer to its class `name` as outer."""
        found = (a._elements().get(name) for a in self.ancestors())
        return any(isinstance(e, tree.ClassDefinition) and e.prefixes.inner for e in found)

    def members_in_order(self) -> list[str]:
        """The names of all components, inherited ones where their extends clause stands."""
        if self._order is None:
            names: dict[str, None] = {}
            body = self.body
            if body is None or self.extended is not None:
                for base in self.bases[:1]:
                    names.update(dict.fromkeys(base.members_in_order()))
            if body is not None:
                bases = self.bases[1:] if self.extended is not None else self.bases
                items: list[tuple[int, list[str]]] = [
                    (clause.at, base.members_in_order())
                    for clause, base in zip(body.extends, bases, strict=True)
                ]
                own = self._elements()
                items += [(c.at, [c.name]) for c in body.components if own.get(c.name) is c]
                for _, found in sorted(items, key=lambda item: item[0]):
                    names.update(dict.fromkeys(found))
            left_out = self.modifiers.left_out
            self._order = [n for n in names if n not in left_out]
        return self._order

    def components(self) -> list[Component]:
        """All its components, in order."""
        from estimica.source.instance.components import Component

        found = (self.find(name) for name in self.members_in_order())
        return [c for c in found if isinstance(c, Component)]

    def member_names(self) -> list[str]:
        """The names of all its members, for suggestions."""
        names = dict.fromkeys(self._elements())
        names.update(dict.fromkeys(self.world.table.stored_names(self.definition)))
        for base in self.bases:
            names.update(dict.fromkeys(base.member_names()))
        return list(names)

    # --- lookup --------------------------------------------------------------------------------

    def lookup(self, name: str) -> Component | Class | None:
        """What `name` means here: a member, an import, or something of the classes around."""
        scope: Class | None = self
        while scope is not None:
            found = scope.find(name)
            if found is None:
                found = scope._imported(name)
            if found is not None:
                return found
            if scope.definition.encapsulated:
                return self.world.predefined.get(name)
            scope = scope.outer
        return None

    def _imported(self, name: str) -> Component | Class | None:
        body = self.body
        if body is None or not body.imports:
            return None
        if name not in self._imports:
            self._imports[name] = self._import(name, body.imports)
        return self._imports[name]

    def _import(self, name: str, clauses: tuple[tree.Import, ...]) -> Component | Class | None:
        for clause in clauses:
            if clause.name == name:
                return self._by_path(clause.path, clause)
        for clause in clauses:
            if clause.name == "*":
                package = self._by_path(clause.path, clause)
                found = package.find(name) if isinstance(package, Class) else None
                if found is not None:
                    return found
        return None

    def _by_path(self, path: tuple[str, ...], clause: tree.Import) -> Component | Class:
        found: Component | Class | None = self.world.root.find(path[0])
        if found is None and self.outer is not None:
            # not of the language, but older libraries import relative names
            found = self.outer.lookup(path[0])
        for name in path[1:]:
            if not isinstance(found, Class):
                found = None
                break
            found = found.find(name)
        if found is None:
            message = f"'{'.'.join(path)}', which is to be imported, was not found"
            raise error_at("S065", self, clause.at, f"{message}{self._absent(path)}")
        return found

    def _absent(self, path: tuple[str, ...]) -> str:
        """Where a class of this full name was looked for, as far as it was found."""
        where: Component | Class | None = self.world.root.find(path[0])
        if not isinstance(where, Class):
            return self.world.missing.anywhere(path[0])
        for name in path[1:]:
            inner = where.find(name)
            if not isinstance(inner, Class):
                return where.why_without(name)
            where = inner
        return ""

    def why_without(self, name: str) -> str:
        """What to say of a class that this one does not have."""
        said = self.world.missing.within(self.definition.source.label)
        if said:
            return f"{said}{misspelt(name, self._class_names())}"
        hint = did_you_mean(name, self._class_names())
        return f": {self.definition.word} {self.name} has no '{name}'{hint}"

    def _class_names(self) -> list[str]:
        """Those of its members that are classes."""
        return [n for n in self.member_names() if isinstance(self.find(n), Class)]

    def find_type(self, name: tree.TypeName) -> Class:
        """The class that a type's name means here."""
        known = self._types.get(name)
        if known is None:
            known = self._search_type(name)
            self._types[name] = known
        return known

    def _search_type(self, name: tree.TypeName) -> Class:
        first = name.parts[0]
        found = self.world.root.find(first) if name.from_root else self.lookup(first)
        if found is None:
            raise self._unknown_type(name, first, self)
        for part in name.parts[1:]:
            if not isinstance(found, Class):
                break
            inner = found.find(part)
            if inner is None:
                raise self._unknown_type(name, part, found)
            found = inner
        if not isinstance(found, Class):
            raise error_at("S066", self, name.at, f"'{name.text}' is a component, not a class")
        return found

    def _unknown_type(self, name: tree.TypeName, part: str, where: Class) -> Exception:
        said = f"class '{name.text}' not found"
        if where is not self:
            return error_at("S067", self, name.at, f"{said}{where.why_without(part)}")
        if len(name.parts) > 1:
            said += f": there is no '{part}'"
        known: dict[str, None] = {}
        scope: Class | None = self
        while scope is not None:
            known.update(dict.fromkeys(scope._class_names()))
            scope = scope.outer
        # a name of another kind, or one that only sounds alike, would lead astray
        hint = self.world.missing.anywhere(part) + misspelt(part, known)
        return error_at("S067", self, name.at, f"{said}{hint}")


def redeclares(element: tree.ClassDefinition | tree.Component) -> bool:
    """Whether an element takes the place of an inherited one; `model extends A` always does."""
    if element.prefixes.redeclare:
        return True
    return isinstance(element, tree.ClassDefinition) and element.extends_itself


def elements_of(body: tree.Body) -> Iterator[tree.ClassDefinition | tree.Component]:
    """The classes and components that a class declares itself."""
    yield from body.classes
    yield from body.components


#: longer chains of extends are circles: libraries have some ten
MOST_BASES = 200


def aliased(cls: Class) -> Class:
    """The class itself, or the one that it is only another name for."""
    short = cls.definition.short
    if (
        short is None
        or short.dimensions
        or short.prefix
        or cls.modifiers.members
        or (short.modification is not None and short.modification.arguments)
    ):
        return cls
    return cls._around().find_type(short.type)


def constraining_modifiers(
    element: tree.ClassDefinition | tree.Component, scope: Class
) -> Modifiers:
    """What a replaceable element says about all that may replace it."""
    if element.constraint is not None:
        return own_constraint(element, scope)
    if isinstance(element, tree.Component):
        return written(element.modification, scope).softened()
    if element.short is not None:
        return written(element.short.modification, scope).softened()
    return NONE


def own_constraint(element: tree.ClassDefinition | tree.Component, scope: Class) -> Modifiers:
    """The modifiers behind `constrainedby`; they count for the element itself too."""
    constraint = element.constraint
    return NONE if constraint is None else written(constraint.modification, scope).softened()


def beneath(kept: Modifiers, definition: tree.ClassDefinition, scope: Class) -> Modifiers:
    """The modifiers of a constraint that a short class does not say otherwise itself."""
    if kept is NONE or definition.short is None:
        return kept
    return kept.unless_said(written(definition.short.modification, scope))
