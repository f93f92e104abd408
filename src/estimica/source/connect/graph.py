"""Overconstrained connectors: spanning trees over records such as orientations (MLS 9.4)."""

from __future__ import annotations

from dataclasses import dataclass, field

from estimica.source.connect.sets import Connection, UnionFind
from estimica.source.instance.components import Component


@dataclass(slots=True)
class ConnectionGraph:
    """Nodes are records with an equalityConstraint; branches stay, connections may be cut."""

    branches: list[tuple[Component, Component]] = field(default_factory=list)
    roots: dict[Component, None] = field(default_factory=dict)
    potential: dict[Component, float] = field(default_factory=dict)
    connections: list[tuple[Component, Component, Connection]] = field(default_factory=list)


@dataclass(slots=True)
class SpanningTrees:
    """The graph after it was cut into trees, each with one root."""

    kept: list[tuple[Component, Component, Connection]]
    cut: list[tuple[Component, Component, Connection]]
    roots: set[Component]
    depth: dict[Component, int]
    partner: dict[Component, Component]  # the other end of a branch

    def is_rooted(self, node: Component) -> bool:
        """Whether a node of a branch is nearer to the root than the branch's other end."""
        other = self.partner.get(node)
        if other is None:
            return node in self.roots
        return self.depth.get(node, 0) < self.depth.get(other, 0)


def spanning_trees(graph: ConnectionGraph) -> SpanningTrees:
    """Cut connections so that every tree has exactly one root."""
    trees = UnionFind()
    rooted: set[object] = set()
    for node in (*graph.roots, *graph.potential):
        trees.find(node)
    for a, b in graph.branches:
        trees.join(a, b)
    for node in graph.roots:
        rooted.add(trees.find(node))
    kept, cut = [], []
    for a, b, connection in graph.connections:
        first, second = trees.find(a), trees.find(b)
        if first == second or (first in rooted and second in rooted):
            cut.append((a, b, connection))
            continue
        trees.join(a, b)
        if first in rooted or second in rooted:
            rooted.add(trees.find(a))
        kept.append((a, b, connection))
    roots: set[Component] = set(graph.roots)
    for members in trees.sets():
        if trees.find(members[0]) in rooted:
            continue
        nodes = [m for m in members if isinstance(m, Component)]
        candidates = [n for n in nodes if n in graph.potential]
        # without any root the first node serves: the orientation is then left to the equations
        chosen = min(candidates, key=lambda n: graph.potential[n]) if candidates else nodes[0]
        if candidates:
            roots.add(chosen)
    partner: dict[Component, Component] = {}
    for a, b in graph.branches:
        partner.setdefault(a, b)
        partner.setdefault(b, a)
    return SpanningTrees(kept, cut, roots, _depths(graph, kept, roots), partner)


def _depths(
    graph: ConnectionGraph,
    kept: list[tuple[Component, Component, Connection]],
    roots: set[Component],
) -> dict[Component, int]:
    neighbours: dict[Component, list[Component]] = {}
    for a, b in [*graph.branches, *((a, b) for a, b, _ in kept)]:
        neighbours.setdefault(a, []).append(b)
        neighbours.setdefault(b, []).append(a)
    depth = dict.fromkeys(roots, 0)
    pending = list(roots)
    while pending:
        following = []
        for node in pending:
            for other in neighbours.get(node, ()):
                if other not in depth:
                    depth[other] = depth[node] + 1
                    following.append(other)
        pending = following
    return depth
