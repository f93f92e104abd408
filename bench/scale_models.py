"""Models that grow: Modelica texts of sparse systems with any number of states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

ROD = """
model Rod "a heat rod in cells, heated at one end, with a conductivity of its own in each cell"
  parameter Integer n = {n};
  parameter Real a[n + 1] = fill(1.0, n + 1) "conductivity";
  parameter Real q = 1 "heat";
  Real T[n](each start = 0, each fixed = true);
equation
  n*der(T[1]) = q + a[2]*n*(T[2] - T[1]);
  for i in 2:n - 1 loop
    der(T[i]) = n*a[i]*(T[i - 1] - T[i])*n - n*a[i + 1]*n*(T[i] - T[i + 1]);
  end for;
  der(T[n]) = n*a[n]*n*(T[n - 1] - T[n]) - 2*n*a[n + 1]*n*T[n];
end Rod;
"""

STEADY_ROD = """
model SteadyRod "the same rod, which begins at rest: n initial equations"
  parameter Integer n = {n};
  parameter Real a[n + 1] = fill(1.0, n + 1) "conductivity";
  parameter Real q = 1 "heat";
  Real T[n](each start = 1);
initial equation
  der(T) = zeros(n);
equation
  n*der(T[1]) = q*(1 + 0.5*sin(6*time)) + a[2]*n*(T[2] - T[1]);
  for i in 2:n - 1 loop
    der(T[i]) = n*a[i]*(T[i - 1] - T[i])*n - n*a[i + 1]*n*(T[i] - T[i + 1]);
  end for;
  der(T[n]) = n*a[n]*n*(T[n - 1] - T[n]) - 2*n*a[n + 1]*n*T[n]^3;
end SteadyRod;
"""

SAMPLED_ROD = """
model SampledRod "the same rod, switched by a thermostat, every cell of which is sampled"
  parameter Integer n = {n};
  parameter Real a[n + 1] = fill(1.0, n + 1) "conductivity";
  parameter Real q = 1 "heat";
  Real T[n](each start = 0, each fixed = true);
  discrete Real Ts[n](each start = 0, each fixed = true);
  Boolean on(start = true, fixed = true);
equation
  on = T[1] < 0.3 or pre(on) and T[1] < 0.4;
  n*der(T[1]) = (if on then q else 0) + a[2]*n*(T[2] - T[1]);
  for i in 2:n - 1 loop
    der(T[i]) = n*a[i]*(T[i - 1] - T[i])*n - n*a[i + 1]*n*(T[i] - T[i + 1]);
  end for;
  der(T[n]) = n*a[n]*n*(T[n - 1] - T[n]) - 2*n*a[n + 1]*n*T[n] + 0.1*(Ts[1] - Ts[n]);
  when sample(0.05, 0.1) then
    Ts = T + 0.1*pre(Ts);
  end when;
end SampledRod;
"""

LADDER = """
package Ladders
  connector Pin
    Real v;
    flow Real i;
  end Pin;
  partial model TwoPin
    Pin p, n;
    Real v;
    Real i;
  equation
    v = p.v - n.v;
    0 = p.i + n.i;
    i = p.i;
  end TwoPin;
  model Resistor
    extends TwoPin;
    parameter Real R = 1;
  equation
    v = R*i;
  end Resistor;
  model Capacitor
    extends TwoPin(v(start = 0, fixed = true));
    parameter Real C = 1;
  equation
    C*der(v) = i;
  end Capacitor;
  model Source
    extends TwoPin;
    parameter Real V = 1;
  equation
    v = V;
  end Source;
  model Ground
    Pin p;
  equation
    p.v = 0;
  end Ground;
  model Ladder "resistors and capacitors in a row, connected as a user would"
    parameter Integer n = {n};
    Resistor r[n](each R = 1/n);
    Capacitor c[n](each C = 1/n);
    Source source;
    Ground ground;
  equation
    connect(ground.p, source.n);
    connect(source.p, r[1].p);
    for i in 1:n loop
      connect(r[i].n, c[i].p);
      connect(c[i].n, ground.p);
    end for;
    for i in 2:n loop
      connect(r[i - 1].n, r[i].p);
    end for;
  end Ladder;
end Ladders;
"""

PIPES = """
package Pipes
  connector Port
    Real p;
    flow Real m;
  end Port;
  model Pipe "turbulent friction"
    Port a, b;
    parameter Real R = 2 "resistance";
    {flow}
  equation
    m = a.m;
    a.m + b.m = 0;
    {friction}
  end Pipe;
  model Volume
    Port a;
    parameter Real C = 0.1;
    Real p(start = 1, fixed = true);
  equation
    p = a.p;
    C*der(p) = a.m;
  end Volume;
  model Pump
    Port a;
    parameter Real p = 2;
  equation
    a.p = p + 0.5*sin(time);
  end Pump;
  model Drain
    Port a;
    parameter Real p = 1;
  equation
    a.p = p;
  end Drain;
  model Network "a grid of pipes: {columns} columns and {rows} rows of junctions"
    parameter Integer columns = {columns};
    parameter Integer rows = {rows};
    Pipe along[rows, columns - 1];
    Pipe across[rows - 1, columns];
    Pipe inlet, outlet;
    {volumes}
    Pump pump;
    Drain drain;
  equation
    connect(pump.a, inlet.a);
    connect(inlet.b, {first});
    connect({last}, outlet.a);
    connect(outlet.b, drain.a);
    {connections}
  end Network;
end Pipes;
"""

_AT_EVERY_JUNCTION = """
    for i in 1:rows loop
      for j in 1:columns - 1 loop
        connect(along[i, j].a, v[i, j].a);
        connect(along[i, j].b, v[i, j + 1].a);
      end for;
    end for;
    for j in 1:columns loop
      for i in 1:rows - 1 loop
        connect(across[i, j].a, v[i, j].a);
        connect(across[i, j].b, v[i + 1, j].a);
      end for;
    end for;
"""

_RIGID = """
    for i in 1:rows loop
      for j in 1:columns - 2 loop
        connect(along[i, j].b, along[i, j + 1].a);
      end for;
    end for;
    for j in 1:columns loop
      for i in 1:rows - 2 loop
        connect(across[i, j].b, across[i + 1, j].a);
      end for;
    end for;
    for j in 1:columns - 1 loop
      for i in 1:rows - 1 loop
        connect(along[i, j].a, across[i, j].a);
      end for;
      connect(along[rows, j].a, across[rows - 1, j].b);
    end for;
    for i in 1:rows - 1 loop
      connect(along[i, columns - 1].b, across[i, columns].a);
    end for;
    connect(along[rows, columns - 1].b, across[rows - 1, columns].b);
    for i in 1:rows loop
      connect(along[i, 1].a, v[i].a);
    end for;
"""


@dataclass(frozen=True)
class Case:
    """A model of some size, or a class of a library (`text` is then its name)."""

    name: str
    size: int
    text: str
    class_: str | None
    stop: float
    outputs: tuple[str, ...]
    tuners: tuple[str, ...] = field(repr=False)


def rod(n: int) -> Case:
    """One state for each cell."""
    tuners = ("q", *(f"a[{i}]" for i in spread(2, n + 1, 49)))
    return Case("rod", n, ROD.format(n=n), "Rod", 1.0, ("T[1]", f"T[{n}]"), tuners)


def steady_rod(n: int) -> Case:
    """As many initial equations as states."""
    case = rod(n)
    return replace(case, name="steady rod", text=STEADY_ROD.format(n=n), class_="SteadyRod")


def sampled_rod(n: int) -> Case:
    """As many memories as states, and events that go through all of them."""
    outputs = ("T[1]", f"Ts[{n}]")
    text = SAMPLED_ROD.format(n=n)
    return replace(rod(n), name="sampled rod", text=text, class_="SampledRod", outputs=outputs)


def ladder(n: int) -> Case:
    """One state for each capacitor, and eight connectors' worth of equations."""
    tuners = tuple(f"r[{i}].R" for i in spread(1, n, 25))
    tuners += tuple(f"c[{i}].C" for i in spread(1, n, 25))
    outputs = ("source.i", f"c[{n}].v")
    return Case("ladder", n, LADDER.replace("{n}", str(n)), "Ladders.Ladder", 1.0, outputs, tuners)


def pipes(n: int) -> Case:
    """About n pipes with inertia between volumes."""
    columns, rows = grid(n)
    text = _network(
        columns,
        rows,
        flow="Real m(start = 0, fixed = true);",
        friction="0.05*der(m) = a.p - b.p - R*m*sqrt(m^2 + 1e-4);",
        volumes="Volume v[rows, columns];",
        first="v[1, 1].a",
        last="v[rows, columns].a",
        connections=_AT_EVERY_JUNCTION,
    )
    outputs = ("inlet.m", f"v[{rows},{columns}].p")
    return Case("pipes", n, text, "Pipes.Network", 5.0, outputs, _of_pipes(columns, rows))


def rigid_pipes(n: int) -> Case:
    """About n pipes without inertia; only the first column of junctions has volumes."""
    columns, rows = grid(n)
    text = _network(
        columns,
        rows,
        flow="Real m(start = 0.1);",
        friction="a.p - b.p = R*m*sqrt(m^2 + 1e-4);",
        volumes="Volume v[rows];",
        first="v[1].a",
        last="across[rows - 1, columns].b",
        connections=_RIGID,
    )
    outputs = ("inlet.m", "outlet.m", f"v[{rows}].p")
    return Case("rigid pipes", n, text, "Pipes.Network", 5.0, outputs, _of_pipes(columns, rows))


def _network(columns: int, rows: int, **parts: str) -> str:
    text = PIPES
    for key, value in {**parts, "columns": str(columns), "rows": str(rows)}.items():
        text = text.replace("{" + key + "}", value)
    return text


def _of_pipes(columns: int, rows: int) -> tuple[str, ...]:
    places = [(i, j) for i in range(1, rows + 1) for j in range(1, columns)]
    chosen = (places[k - 1] for k in spread(1, len(places), 49))
    return ("inlet.R", *(f"along[{i},{j}].R" for i, j in chosen))


def grid(n: int) -> tuple[int, int]:
    """Columns and rows of a grid with about n pipes."""
    rows = max(2, round((n / 2) ** 0.5))
    return max(3, round((n - 2 + rows) / (2 * rows - 1))), rows


def spread(first: int, last: int, count: int) -> Sequence[int]:
    """At most so many different whole numbers from first to last."""
    count = min(count, last - first + 1)
    if count == 1:
        return [first]
    return sorted({first + round(k * (last - first) / (count - 1)) for k in range(count)})


FAMILIES: dict[str, tuple[Callable[[int], Case], tuple[int, ...]]] = {
    "rod": (rod, (10, 30, 100, 300, 1000, 3000)),
    "steady rod": (steady_rod, (10, 30, 100, 300, 1000)),
    "sampled rod": (sampled_rod, (10, 30, 100, 300, 1000)),
    "ladder": (ladder, (10, 30, 100, 300, 1000, 3000)),
    "pipes": (pipes, (20, 60, 200)),
    "rigid pipes": (rigid_pipes, (20, 60, 200)),
}


def engine_v6() -> Case:
    """Six cylinders of the Modelica Standard Library: a multibody model with closed loops."""
    name = "Modelica.Mechanics.MultiBody.Examples.Loops.EngineV6_analytic"
    tuners = ("load.J", "filter.f")
    return Case("EngineV6", 0, name, None, 0.2, ("engineSpeed_rpm", "engineTorque"), tuners)
