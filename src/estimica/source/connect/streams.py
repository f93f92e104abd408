"""Stream connectors: what inStream means, and the streams that leave through outer connectors.

With eps for flows near zero (MLS 15.2), so that a mixing point without any flow has the mean of
its neighbours instead of 0/0. What flows into the model itself through a connector of its own is a
variable, `inStream(port.h_outflow)`, with an equation that says: the same as flows out.
"""

from __future__ import annotations

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Equation, Origin
from estimica.source.connect.ends import End, Joint, is_connector
from estimica.source.connect.sets import ConnectionSets
from estimica.source.instance.components import Component

#: flows below this count as this much in mixing: far below any flow that is measured, and large
#: enough that sums of ten of them are not lost beside 1e5 J/kg
EPS = ex.const(1e-10)


class Streams:
    """Values of streams that flow into connectors."""

    def __init__(self, sets: ConnectionSets) -> None:
        self._sets = sets
        self._members: dict[object, list[Joint]] = {}
        self.inflows: dict[str, str] = {}  # of the model's own connectors: their streams
        for members in sets.streams.sets():
            joints = [m for m in members if isinstance(m, Joint)]
            self._members[sets.streams.find(joints[0])] = joints

    def into(self, end: End) -> Expression:
        """inStream(end): what would flow in through a connector, seen from inside its owner."""
        joint = Joint(end, outside=False)
        if joint not in self._sets.streams:
            return self._from_around(end) if _belongs_to_model(end) else ex.name(end.name)
        others = [j for j in self._set_of(joint) if j != joint]
        return self._mixed(others)

    def _from_around(self, end: End) -> Expression:
        """What flows into the model, which whoever uses it as a component may give."""
        name = inflow_name(end.name)
        self.inflows[name] = end.name
        return ex.name(name)

    def _set_of(self, joint: Joint) -> list[Joint]:
        return self._members[self._sets.streams.find(joint)]

    def _mixed(self, sources: list[Joint]) -> Expression:
        if len(sources) == 1:
            return self._carried(sources[0])
        able = [j for j in sources if not self._only_takes(j)] or sources
        if len(able) == 1:
            return self._carried(able[0])
        weights = [self._inflow(j) for j in able]
        top = ex.total(ex.mul(w, self._carried(j)) for w, j in zip(weights, able, strict=True))
        return ex.div(top, ex.total(weights))

    def _carried(self, joint: Joint) -> Expression:
        """What a member of a set brings to the mixing point."""
        return self.into(joint.end) if joint.outside else ex.name(joint.end.name)

    def _inflow(self, joint: Joint) -> Expression:
        """How much flows from a member to the mixing point, at least a little."""
        flow = ex.name(flow_of(joint.end.component).name)
        return ex.call("max", flow if joint.outside else ex.neg(flow), EPS)

    def _only_takes(self, joint: Joint) -> bool:
        """Whether a member can never bring anything, by the bounds of its flow."""
        flow = flow_of(joint.end.component).component
        bound = flow.attributes.of("max" if joint.outside else "min").binding
        if bound is None:
            return False
        value = flow.world.values.number(bound)
        if value is None:
            return False
        return value <= 0.0 if joint.outside else value >= 0.0

    def equations(self) -> list[Equation]:
        """What leaves through connectors of a component that are joined inside it."""
        equations = []
        for joints in self._members.values():
            for joint in joints:
                if joint.outside:
                    others = [j for j in joints if j != joint]
                    origin = self._sets.origins[joint.end]
                    place = origin.rewritten("", "stream")
                    equations.append(Equation(ex.name(joint.end.name), self._mixed(others), place))
        return equations

    def open_equations(self) -> list[Equation]:
        """Around a connector of the model that is not connected there is what flows out of it."""
        return [
            Equation(ex.name(inflow), ex.name(stream), Origin(f"{inflow} = {stream}", "", OPEN))
            for inflow, stream in self.inflows.items()
        ]

    def all_inflows(self) -> dict[str, Expression]:
        """What flows into each connector of a component that is connected, by its name.

        Those that would need an inflow into the model that no equation speaks of are left out.
        """
        found: dict[str, Expression] = {}
        probe = Streams(self._sets)
        for joints in self._members.values():
            for joint in joints:
                if not joint.outside:
                    probe.inflows = {}
                    value = probe.into(joint.end)
                    if probe.inflows.keys() <= self.inflows.keys():
                        found[inflow_name(joint.end.name)] = value
        return found


#: the kind of equations that say so, in their origin
OPEN = "unconnected stream"


def inflow_name(stream: str) -> str:
    """The variable of what flows in, by the stream that flows out."""
    return f"inStream({stream})"


def _belongs_to_model(end: End) -> bool:
    above = end.component.parent
    while above is not None and not above.is_root and is_connector(above):
        above = above.parent
    return above is not None and above.is_root


def flow_of(stream: Component) -> End:
    """The flow of the connector that a stream belongs to."""
    connector = stream.parent
    assert connector is not None
    while True:
        for member in connector.class_.components():
            if member.connection == "flow" and member.leaf is not None:
                return End(member)
        above = connector.parent
        assert above is not None
        connector = above
