"""Components: what a class declares, as it is in this place of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimica.source.instance import predefined
from estimica.source.instance.classes import (
    Class,
    Leaf,
    constraining_modifiers,
    own_constraint,
)
from estimica.source.instance.modifiers import (
    NONE,
    Binding,
    Modifiers,
    merged,
    overridden,
    written,
)
from estimica.source.instance.place import error_at
from estimica.source.syntax import tree

if TYPE_CHECKING:
    from estimica.source.instance.world import World

_ORDER = {"": 0, "discrete": 1, "parameter": 2, "constant": 3}


class Component:
    """One component, an array of components, or an element of such an array."""

    __slots__ = (
        "_class",
        "_dims",
        "_elements",
        "_inner",
        "_leaf",
        "_path",
        "_present",
        "_type",
        "declaration",
        "default",
        "index",
        "modifiers",
        "name",
        "original",
        "owner",
        "scope",
        "world",
    )

    def __init__(
        self,
        owner: Class,
        declaration: tree.Component,
        original: tree.Component,
        scope: Class,
        modifiers: Modifiers,
        default: Modifiers,
        world: World,
        index: tuple[int, ...] | None = None,
    ) -> None:
        self.name = original.name
        self.owner = owner  # the class that declares it
        self.declaration = declaration  # after a redeclaration the new one
        self.original = original
        self.scope = scope  # where the names of the declaration are looked up
        self.modifiers = modifiers  # from outside
        self.default = default  # of the declaration itself
        self.world = world
        self.index = index  # of an element of an array, counted from 0
        self._class: Class | None = None
        self._type: Class | None = None
        self._leaf: Leaf | bool | None = None
        self._dims: tuple[int, ...] | None = None
        self._elements: dict[tuple[int, ...], Component] = {}
        self._inner: Component | None = None
        self._path: str | None = None
        self._present: bool | None = None

    def __repr__(self) -> str:
        return f"<component {self.path}>"

    # --- place in the model --------------------------------------------------------------------

    @property
    def parent(self) -> Component | None:
        """The component that it is part of; None at the top, and for constants of packages."""
        return self.owner.component

    @property
    def path(self) -> str:
        """Its name in the flat system."""
        if self._path is None:
            parent = self.parent
            prefix = "" if parent is None else parent.path
            name = f"{prefix}.{self.name}" if prefix else self.name
            if self.index is not None:
                name += f"[{','.join(str(i + 1) for i in self.index)}]"
            self._path = name
        return self._path

    @property
    def in_model(self) -> bool:
        """Whether it is a part of the model, not a constant of a package."""
        parent = self.parent
        return parent is not None and parent.in_model

    @property
    def is_root(self) -> bool:
        """Whether it stands for the whole model."""
        return False

    # --- prefixes ------------------------------------------------------------------------------

    @property
    def variability(self) -> str:
        """constant, parameter, discrete or "", that of records around it included."""
        own = self.declaration.variability or self.original.variability
        parent = self.parent
        if parent is not None and not parent.is_root:
            above = parent.variability
            if _ORDER[above] > _ORDER[own]:
                return above
        return own

    @property
    def causality(self) -> str:
        """input, output or ""."""
        own = self.declaration.causality or self.original.causality
        if own:
            return own
        leaf = self.leaf
        if leaf is not None and leaf.causality:
            return leaf.causality
        return ""

    @property
    def connection(self) -> str:
        """flow, stream or "", that of records around it included."""
        own = self.declaration.connection or self.original.connection
        if own:
            return own
        leaf = self.leaf
        if leaf is not None and leaf.connection:
            return leaf.connection
        parent = self.parent
        if parent is not None and not parent.is_root:
            return parent.connection
        return ""

    @property
    def protected(self) -> bool:
        """Whether it is hidden from users of the class, by itself or by a part around it."""
        if self.original.prefixes.protected or self.declaration.prefixes.protected:
            return True
        return self.parent is not None and self.parent.protected

    @property
    def final(self) -> bool:
        """Whether its value may not be changed from outside."""
        if (
            self.declaration.prefixes.final
            or self.original.prefixes.final
            or self.modifiers.final
            or self.default.final
        ):
            return True
        parent = self.parent
        return parent is not None and not parent.is_root and parent.final

    @property
    def is_inner(self) -> bool:
        """Whether parts below may refer to it as outer."""
        return self.declaration.prefixes.inner or self.original.prefixes.inner

    @property
    def is_outer(self) -> bool:
        """Whether it stands for an inner component above."""
        return self.declaration.prefixes.outer or self.original.prefixes.outer

    def actual(self) -> Component:
        """The component that a reference to this one means: of an outer one the inner one."""
        if not self.is_outer:
            return self
        if self._inner is None:
            self._inner = self.world.inner(self)
        return self._inner

    @property
    def present(self) -> bool:
        """Whether its condition, if it has one, holds."""
        if self._present is None:
            condition = self.declaration.condition or self.original.condition
            if condition is None:
                self._present = True
            else:
                scope = self.scope if self.declaration.condition is not None else self.owner
                self._present = self.world.holds(
                    condition, scope, "decides whether a component exists"
                )
        return self._present

    # --- type ----------------------------------------------------------------------------------

    @property
    def type(self) -> Class:
        """The class that the declaration names, without the modifiers of this component."""
        if self._type is None:
            self._type = self.scope.find_type(self.declaration.type)
        return self._type

    @property
    def leaf(self) -> Leaf | None:
        """The scalar type, None for a component with members."""
        if self._leaf is None:
            self._leaf = self.type.leaf() or False
        return self._leaf if isinstance(self._leaf, Leaf) else None

    @property
    def attributes(self) -> Modifiers:
        """The attributes of a scalar (or array of scalars), those of its type included."""
        leaf = self.leaf
        assert leaf is not None
        return merged(self.changes, leaf.modifiers)

    @property
    def changes(self) -> Modifiers:
        """All modifiers, those of the declaration included."""
        return merged(self.modifiers, self.default)

    @property
    def class_(self) -> Class:
        """The class of a component with members, with all modifiers."""
        if self._class is None:
            target = self.type
            inner = overridden(target.modifiers) if self.has_value else target.modifiers
            self._class = Class(
                target.definition,
                target.outer,
                merged(self._member_modifiers(), inner),
                self.world,
                self,
                target.extended,
            )
        return self._class

    def _member_modifiers(self) -> Modifiers:
        changes = self.changes
        return Modifiers(
            changes.members,
            final=changes.final,
            soft=changes.soft,
            at=changes.at,
            scope=changes.scope,
        )

    @property
    def _own_value(self) -> Binding | None:
        """The value from outside, unless a whole of which this is a part has one."""
        return None if self.modifiers.overridden else self.modifiers.binding

    @property
    def has_value(self) -> bool:
        """Whether it has a value as a whole, or is part of something that has."""
        if self._own_value is not None or self.default.binding is not None:
            return True
        parent = self.parent
        return parent is not None and not parent.is_root and parent.has_value

    @property
    def binding(self) -> Binding | None:
        """Its value from outside; where it has none and is no part of a whole, its own."""
        if self._own_value is not None:
            return self._own_value
        parent = self.parent
        if parent is not None and not parent.is_root and parent.has_value:
            return None
        return self.default.binding

    # --- arrays --------------------------------------------------------------------------------

    @property
    def dims(self) -> tuple[int, ...]:
        """The sizes of an array, () for a scalar, a single component, an element of an array."""
        if self.index is not None:
            return ()
        if self._dims is None:
            self._dims = self.world.sizes(self)
        return self._dims

    @property
    def declared_dimensions(self) -> tuple[tuple[tree.Expression, Class], ...]:
        """The sizes as they are written, those of its type last."""
        own = self.declaration.dimensions
        scope = self.scope
        if not own and self.original.dimensions:
            own, scope = self.original.dimensions, self.owner
        return (*((d, scope) for d in own), *self.type.dimensions())

    def element(self, index: tuple[int, ...]) -> Component:
        """The element of an array of components with members."""
        found = self._elements.get(index)
        if found is None:
            found = Component(
                self.owner,
                self.declaration,
                self.original,
                self.scope,
                self.modifiers.of_element(index),
                self.default.of_element(index),
                self.world,
                index,
            )
            found._type = self._type
            found._present = self._present
            self._elements[index] = found
        return found

    def elements(self) -> list[Component]:
        """All elements of an array of components, row by row; itself where it is none."""
        dims = self.dims
        if not dims:
            return [self]
        return [self.element(index) for index in all_indices(dims)]


class Root(Component):
    """The model itself, as the component that all others are parts of."""

    __slots__ = ()

    def __init__(self, cls: Class, world: World) -> None:
        definition = cls.definition
        nothing = tree.Component(
            definition.name,
            tree.TypeName((definition.name,), definition.at),
            (),
            None,
            tree.NO_PREFIXES,
            "",
            "",
            "",
            None,
            None,
            definition.description,
            None,
            definition.at,
            definition.source,
        )
        super().__init__(cls, nothing, nothing, cls, NONE, NONE, world)
        self._class = cls
        self._type = cls
        self._path = ""
        self._present = True
        self._dims = ()
        cls.component = self

    @property
    def parent(self) -> Component | None:
        """None: there is nothing above the model."""
        return None

    @property
    def in_model(self) -> bool:
        """It is the model."""
        return True

    @property
    def is_root(self) -> bool:
        """It stands for the whole model."""
        return True


def all_indices(dims: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Every index of an array, row by row, counted from 0."""
    indices: list[tuple[int, ...]] = [()]
    for size in dims:
        indices = [(*i, k) for i in indices for k in range(size)]
    return indices


def declared(owner: Class, element: tree.Component, world: World) -> Component:
    """The component that `element` declares in the class `owner`, after redeclarations."""
    modifiers = owner.modifiers.of(element.name)
    replacement = modifiers.replacement
    if replacement is None:
        default = merged(written(element.modification, owner), own_constraint(element, owner))
        _require_not_final(element, modifiers)
        return Component(owner, element, element, owner, modifiers, default, world)
    new = replacement.element
    scope = replacement.scope
    if not isinstance(new, tree.Component):
        raise error_at(
            "S064",
            scope,
            new.at,
            f"'{new.name}' is a component; it cannot be redeclared as a class",
        )
    default = merged(written(new.modification, scope), own_constraint(new, scope))
    for inner in replacement.chain():
        if isinstance(inner.element, tree.Component) and inner is not replacement:
            default = merged(default, constraining_modifiers(inner.element, inner.scope))
    default = merged(default, constraining_modifiers(element, owner))
    return Component(owner, new, element, scope, modifiers.only_members(), default, world)


def _require_not_final(element: tree.Component, modifiers: Modifiers) -> None:
    if element.prefixes.final and modifiers.binding is not None and modifiers.scope is not None:
        raise error_at(
            "S063",
            modifiers.scope,
            modifiers.at,
            f"'{element.name}' is declared final; its value cannot be changed",
        )


def is_clock(component: Component) -> bool:
    """Whether a component is a clock, or an array of clocks."""
    leaf = component.leaf
    return leaf is not None and leaf.type.definition is predefined.CLOCK
