"""The syntax tree of Modelica: what was written, where, and nothing else.

Every node has `at`, the offset of its first character in its file's text; `Source` says which file
that is. Nodes are compared by identity: memo tables key on them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A text that was read: a file, or what the user typed."""

    text: str = field(repr=False)
    label: str = ""  # the file's path, or "" for a text
    line_starts: list[int] = field(default_factory=list, repr=False)

    def line_and_column(self, at: int) -> tuple[int, int]:
        """Line and column of an offset, both counted from 1."""
        from bisect import bisect_right

        if not self.line_starts:
            self.line_starts.append(0)
            start = self.text.find("\n")
            while start >= 0:
                self.line_starts.append(start + 1)
                start = self.text.find("\n", start + 1)
        line = bisect_right(self.line_starts, at)
        return line, at - self.line_starts[line - 1] + 1


# --- expressions --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Number:
    """12 or 1.5e3; `whole` tells an Integer from a Real."""

    value: float
    whole: bool
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """ "a text", with its escapes resolved."""

    value: str
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """true or false."""

    value: bool
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One identifier of a reference with its subscripts; () where it has none."""

    name: str
    subscripts: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """a.b[2].c; `from_root` for .Modelica.Constants.pi. Also `time`."""

    parts: tuple[Part, ...]
    at: int
    from_root: bool = False

    @property
    def text(self) -> str:
        """The dotted name without subscripts."""
        return ".".join([p.name for p in self.parts])


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """f(a, b, c = 1), also der(x), pre(x), initial(): operators are told apart by lookup.

    `iterators` of a reduction such as sum(x for i in 1:3): the one argument is its body.
    """

    function: Reference
    arguments: tuple[Expression, ...]
    named: tuple[tuple[str, Expression], ...]
    at: int
    iterators: tuple[Iterator, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class PartialCall:
    """function f(a = 1): a function with some of its inputs given, as an argument."""

    function: Reference
    named: tuple[tuple[str, Expression], ...]
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class Binary:
    """a op b; op is + - * / ^ .+ .- .* ./ .^ < <= > >= == <> and or."""

    op: str
    left: Expression
    right: Expression
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class Unary:
    """op a; op is + - .+ .- not."""

    op: str
    operand: Expression
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class IfExpression:
    """if c then a elseif d then b else e: branches ((c, a), (d, b)) and otherwise e."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class Range:
    """first : last, or first : step : last."""

    first: Expression
    step: Expression | None
    last: Expression
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class ArrayOf:
    """{a, b, c}, or {body for i in 1:3} where there are iterators."""

    elements: tuple[Expression, ...]
    at: int
    iterators: tuple[Iterator, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """[a, b; c, d]."""

    rows: tuple[tuple[Expression, ...], ...]
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class Several:
    """(a, , b): left-hand side of a call with several outputs; None where one is left out.

    A single expression in brackets is that expression, not a Several.
    """

    elements: tuple[Expression | None, ...]
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class Indexed:
    """(expression)[subscripts], and f(x)[2] of newer versions of the language."""

    base: Expression
    subscripts: tuple[Expression, ...]
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """(expression).name, and f(x).name."""

    base: Expression
    name: str
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class End:
    """`end` in a subscript."""

    at: int


@dataclass(frozen=True, slots=True, eq=False)
class Colon:
    """`:` as a subscript or dimension."""

    at: int


Expression: TypeAlias = (
    "Number | Text | Truth | Reference | Call | PartialCall | Binary | Unary | IfExpression | Range"
    " | ArrayOf | Matrix | Several | Indexed | Field | End | Colon"
)


@dataclass(frozen=True, slots=True, eq=False)
class Iterator:
    """i in range; without a range it follows from where i is a subscript."""

    name: str
    range: Expression | None
    at: int


# --- equations and statements -------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Equality:
    """left = right."""

    left: Expression
    right: Expression
    at: int
    end: int  # the offset after its last character


@dataclass(frozen=True, slots=True, eq=False)
class Connect:
    """connect(a, b)."""

    left: Reference
    right: Reference
    at: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class CallEquation:
    """f(x); as an equation or a statement: assert, reinit, terminate, Connections.root, …."""

    call: Call
    at: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """a.b[2] := value, or (a, , b) := f(x)."""

    target: Reference | Several
    value: Expression
    at: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class For:
    """for i in r, j in s loop … end for, of equations or of statements."""

    iterators: tuple[Iterator, ...]
    body: tuple[Equation, ...]
    at: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class If:
    """if c then … elseif … else … end if; the condition of the else branch is None."""

    branches: tuple[tuple[Expression | None, tuple[Equation, ...]], ...]
    at: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class When:
    """when c then … elsewhen … end when."""

    branches: tuple[tuple[Expression, tuple[Equation, ...]], ...]
    at: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class While:
    """while c loop … end while."""

    condition: Expression
    body: tuple[Equation, ...]
    at: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class Jump:
    """break or return."""

    word: str
    at: int
    end: int


Equation: TypeAlias = (
    "Equality | Connect | CallEquation | Assignment | For | If | When | While | Jump"
)


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """An equation or algorithm section; in the order of the class."""

    algorithm: bool
    initial: bool
    body: tuple[Equation, ...]
    of_parameters: bool = False  # a parameter equation of Base Modelica


@dataclass(frozen=True, slots=True, eq=False)
class External:
    """external "C" y = f(x, n) annotation(…); `outputs` is the left-hand side."""

    language: str
    output: Reference | None
    function: str  # "" where it has the name of the Modelica function
    arguments: tuple[Expression, ...]
    at: int
    annotation: Annotation | None = None


# --- modifications ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Modification:
    """(arguments) = value; either may be missing. `removed` for `= break`."""

    arguments: tuple[Argument, ...] = ()
    value: Expression | None = None
    at: int = 0
    removed: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Modifier:
    """each final a.b.c(…) = …; of a longer path each part is one level."""

    path: tuple[str, ...]
    modification: Modification
    each: bool
    final: bool
    at: int
    description: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Redeclaration:
    """redeclare/replaceable component or class, as an argument of a modification.

    `element.redeclare` is False for `replaceable …` without redeclare.
    """

    element: Component | ClassDefinition
    each: bool
    final: bool
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class Break:
    """break name, or break connect(a, b): an inherited element left out."""

    name: str
    connect: Connect | None
    at: int


Argument: TypeAlias = "Modifier | Redeclaration | Break"


@dataclass(frozen=True, slots=True, eq=False)
class Annotation:
    """annotation(…), read when somebody asks for it."""

    read: Callable[[], Modification] = field(repr=False)
    at: int


# --- elements of classes ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class TypeName:
    """A name of a class: Modelica.Units.SI.Voltage, .Modelica.…."""

    parts: tuple[str, ...]
    at: int
    from_root: bool = False

    @property
    def text(self) -> str:
        """Dotted."""
        return ".".join(self.parts)


@dataclass(frozen=True, slots=True, eq=False)
class Prefixes:
    """What may stand before an element; all optional."""

    protected: bool = False
    redeclare: bool = False
    final: bool = False
    inner: bool = False
    outer: bool = False
    replaceable: bool = False


NO_PREFIXES = Prefixes()


@dataclass(frozen=True, slots=True, eq=False)
class Constraint:
    """constrainedby type(…)."""

    type: TypeName
    modification: Modification | None
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class Component:
    """One declared component; `Real a, b[2];` are two of them."""

    name: str
    type: TypeName
    dimensions: tuple[Expression, ...]  # of the name, then of the type: `Real[3] x[2]` is [2, 3]
    modification: Modification | None
    prefixes: Prefixes
    connection: str  # "flow", "stream" or ""
    variability: str  # "constant", "parameter", "discrete" or ""
    causality: str  # "input", "output" or ""
    condition: Expression | None
    constraint: Constraint | None
    description: str
    annotation: Annotation | None
    at: int
    source: Source = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Extends:
    """extends type(…)."""

    type: TypeName
    modification: Modification | None
    protected: bool
    annotation: Annotation | None
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class Import:
    """import A.B; (name "B"), import X = A.B; (name "X"), import A.*; (name "*").

    `import A.{B, C}` is two of them.
    """

    name: str
    path: tuple[str, ...]
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """What stands between a class's head and its end."""

    components: tuple[Component, ...]
    classes: tuple[ClassDefinition, ...]
    extends: tuple[Extends, ...]
    imports: tuple[Import, ...]
    sections: tuple[Section, ...]
    external: External | None
    annotation: Annotation | None


@dataclass(frozen=True, slots=True, eq=False)
class Short:
    """The right-hand side of `type A = input B[3](…)`."""

    type: TypeName
    dimensions: tuple[Expression, ...]
    modification: Modification | None
    prefix: str  # input, output, flow, … as it stands before the type, "" for none


@dataclass(frozen=True, slots=True, eq=False)
class ClassDefinition:
    """A class. Exactly one of `body`, `short`, `literals`, `derivative` says what it is.

    word: model, block, connector, record, type, package, function, class, operator,
    "operator record", "operator function", "expandable connector".
    """

    name: str
    word: str
    partial: bool
    encapsulated: bool
    prefixes: Prefixes
    description: str
    at: int
    source: Source = field(repr=False)
    read_body: Callable[[], Body] | None = field(repr=False, default=None)  # parses once, on demand
    extends_itself: bool = False  # `model extends A(…)`: `modification` belongs to it
    modification: Modification | None = None
    short: Short | None = None
    literals: tuple[tuple[str, str], ...] | None = None  # enumeration: names, descriptions
    open_enumeration: bool = False  # enumeration(:)
    derivative: tuple[TypeName, tuple[str, ...]] | None = None  # der(f, x, y)
    constraint: Constraint | None = None
    annotation: Annotation | None = None  # of a short class; that of a long one is in its body
    pure: bool | None = None  # what a function says of itself, None where it says nothing

    @property
    def body(self) -> Body | None:
        """The body, None for short classes, enumerations and derivatives."""
        return self.read_body() if self.read_body is not None else None


@dataclass(frozen=True, slots=True, eq=False)
class File:
    """What one text defines: `within P; …`."""

    within: tuple[str, ...]
    classes: tuple[ClassDefinition, ...]
    source: Source
