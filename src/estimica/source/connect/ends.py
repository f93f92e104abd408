"""What a connection joins: connectors, and the scalars in them."""

from __future__ import annotations

from dataclasses import dataclass

from estimica.source.instance.components import Component, all_indices


@dataclass(frozen=True, slots=True)
class End:
    """A connector, or an element of an array of scalar connectors."""

    component: Component
    position: tuple[int, ...] = ()  # counted from 0, of a scalar in an array

    @property
    def name(self) -> str:
        """Its name in the flat system."""
        if not self.position:
            return self.component.path
        return f"{self.component.path}[{','.join(str(i + 1) for i in self.position)}]"


@dataclass(frozen=True, slots=True)
class Joint:
    """A scalar of a connector as one side of it sees it: from outside, or from inside its owner."""

    end: End
    outside: bool  # whether it was joined inside its owner: MLS calls that an outside connector


def scalars_of(component: Component) -> list[End]:
    """Every scalar of a component that is a scalar or an array of scalars."""
    return [End(component, i) for i in all_indices(component.dims)]


def is_connector(component: Component) -> bool:
    """Whether it is declared with a connector class."""
    return component.type.is_a("connector", "expandable connector")


def is_outside(component: Component, instance: Component) -> bool:
    """Whether a connector belongs to `instance` itself, in which the connection is written."""
    top = component
    while True:
        parent = top.parent
        if parent is None or parent.is_root or not is_connector(parent):
            break
        top = parent
    return top.parent is instance


def in_bus(component: Component) -> bool:
    """Whether it is part of an expandable connector."""
    above = component.parent
    while above is not None and not above.is_root:
        if above.type.is_expandable:
            return True
        above = above.parent
    return False
