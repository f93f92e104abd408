"""What the evaluator asks the model: values of names, functions, operators of records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from estimica.flat.expression import Expression
from estimica.flat.system import Kind, Variability
from estimica.source.evaluate.values import Frame, Value
from estimica.source.syntax import tree

#: the class in which an expression was written; opaque here
Scope: TypeAlias = Any


@dataclass(frozen=True, slots=True, eq=False)
class Dimension:
    """One dimension of a declaration: an expression, or tree.Colon for `:`."""

    expression: tree.Expression
    scope: Scope
    outside: bool = False  # written where the names of the function or record are not seen


@dataclass(frozen=True, slots=True, eq=False)
class Parameter:
    """An input, output or local of a function, or a field of a record."""

    name: str
    dimensions: tuple[Dimension, ...] = ()
    default: tuple[tree.Expression, Scope] | None = None
    kind: Kind | None = None  # None for records, functions and external objects
    fields: tuple[Parameter, ...] | None = None  # of a record
    type: object | None = None  # of a record, for Record.type
    function: bool = False  # a function as an argument
    constant: bool = False
    literals: tuple[str, ...] = ()  # of an enumeration
    #: whose names the default sees: "own" of the function or record that declares it, "around" of
    #: the function in which the record is declared, "outside" neither
    sees: str = "own"


def no_annotation() -> tree.Modification | None:
    """The annotation of a function that has none."""
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function, or the constructor of a record or of an external object.

    A record's constructor returns its inputs and its `locals`, which are fields that are no inputs.
    """

    name: str
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...] = ()
    locals: tuple[Parameter, ...] = ()
    body: tuple[tree.Equation, ...] = ()
    scope: Scope = None
    external: tree.External | None = None
    record: object | None = None  # the type of the record that it constructs
    derivative_of: tuple[Function, tuple[str, ...]] | None = None  # function g = der(f, x)
    object_type: bool = False  # constructor of an external object
    source: tree.Source | None = field(default=None, repr=False)
    at: int = 0
    annotation: Callable[[], tree.Modification | None] = no_annotation
    of_partial: bool = False  # whether it is declared in a partial class, as in that of a medium


@dataclass(frozen=True, slots=True)
class ScalarType:
    """The type of a scalar expression; the literals of an enumeration."""

    kind: Kind
    literals: tuple[str, ...] = ()


class VariableView(Protocol):
    """What is known of a scalar variable of the flat model."""

    @property
    def kind(self) -> Kind:
        """Its type."""

    @property
    def variability(self) -> Variability:
        """When it may change."""

    @property
    def is_parameter(self) -> bool:
        """Whether its value is settled before the run."""

    @property
    def solved(self) -> bool:
        """Whether initialisation finds it: a parameter with fixed = false."""


class Names(Protocol):
    """The model, as far as expressions refer to it."""

    def value(self, reference: tree.Reference, scope: Scope, frame: Frame) -> Value:
        """The value of a name that is not local; SourceError where there is none.

        Also components as records, whole arrays, enumeration literals, and for the name of an
        enumeration (or Boolean) as a range the array of its values.
        """

    def function(self, reference: tree.Reference, scope: Scope) -> Function | None:
        """The function or constructor of that name; None where there is none."""

    def operator(self, op: str, operands: Sequence[Value]) -> Function | None:
        """The function for "'+'", "'-'", "'constructor'", "'String'", … of an operator record.

        It is chosen by the type of the record among `operands`; None where none has such a
        function. For "'constructor'" it is to convert the one operand that is not a record.
        """

    def special(self, call: tree.Call, scope: Scope, frame: Frame) -> Value | None:
        """inStream, cardinality, Connections.*, …: operators that need the model; None if none."""

    def variable(self, name: str) -> VariableView | None:
        """The scalar variable of the flat model with this name."""

    def binding(self, name: str) -> Expression | str | None:
        """The value of a scalar parameter or constant in terms of others."""

    def counts_truths(self, reference: tree.Reference, position: int, scope: Scope) -> bool:
        """Whether a dimension of a component is declared as Boolean."""

    def type_of(self, reference: tree.Reference, scope: Scope) -> ScalarType | None:
        """The type of (an element of) a name that is not local, where that is known."""
