"""Components that are scalars, as variables with their attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimica.base.errors import SourceError, UnsupportedError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Equation, Kind, StateSelect, Variability, Variable
from estimica.source.evaluate.values import MOST_ELEMENTS, Value, broadcast, is_array
from estimica.source.flatten.equations import sides
from estimica.source.flatten.origins import declaration_origin
from estimica.source.instance.components import Component, all_indices
from estimica.source.instance.modifiers import Binding

if TYPE_CHECKING:
    from estimica.source.evaluate.expressions import Evaluator
    from estimica.source.flatten.names.model import ModelNames

#: scalar variables of a model: some 2 kB each until they are equations; the largest examples of
#: the Modelica Standard Library have 20,000
MOST_SCALARS = 500_000
_SELECTS = tuple(StateSelect)


class VariableReader:
    """Makes variables of components, and equations of their values."""

    def __init__(self, names: ModelNames, evaluator: Evaluator) -> None:
        self._names = names
        self._evaluator = evaluator

    def binding_equations(self, leaf: Component) -> list[Equation]:
        """`Real x = …` of a variable."""
        if leaf.variability in ("parameter", "constant"):
            return []
        parent = leaf.parent
        if leaf.binding is None and not (parent is not None and parent.has_value):
            return []
        origin = declaration_origin(leaf.declaration, "binding", _above(leaf))
        with self._evaluator.at(origin):
            value = self._names.bound(leaf)
            if value is None:
                # a record is given as a whole, by a function that leaves this field out
                self._evaluator.notes.append(
                    f"the value of the record gives '{leaf.path}' no value; it is taken as 0"
                )
                value = ex.ZERO
            if leaf.dims and is_array(value) and value.shape != leaf.dims:
                value = broadcast(value, leaf.dims)
            if leaf.dims and not is_array(value):
                value = broadcast(value, leaf.dims)
            return [Equation(a, b, origin) for a, b in sides(self._names.symbol(leaf), value)]

    def variables(self, leaf: Component, discrete: frozenset[str]) -> list[Variable]:
        """The scalars of a component; Reals in `discrete` are set by when-clauses."""
        origin = declaration_origin(leaf.declaration, "declaration", _above(leaf))
        type_ = leaf.leaf
        assert type_ is not None
        with self._evaluator.at(origin):
            self._names.symbol(leaf)
            attributes = leaf.attributes
            given = {
                name: self._values(leaf, attributes.of(name).binding)
                for name in ("start", "min", "max", "nominal", "fixed")
            }
            texts = {
                name: self._word(attributes.of(name).binding)
                for name in ("unit", "displayUnit", "quantity")
            }
            select = self._select(attributes.of("stateSelect").binding)
            bindings = self._bindings(leaf)
        names = scalar_names(leaf)
        is_parameter = leaf.variability in ("parameter", "constant")
        result = []
        for k, name in enumerate(names):
            bound = bindings[k]
            fixed = given["fixed"][k]
            result.append(
                Variable(
                    name=name,
                    kind=type_.kind,
                    variability=self._variability(leaf, type_.kind, name, discrete),
                    causality=self._causality(leaf),
                    binding=bound if isinstance(bound, Expression) else None,
                    start=given["start"][k] if not (is_parameter and bound is not None) else None,
                    fixed=is_parameter if fixed is None or bound is not None else self._true(fixed),
                    minimum=given["min"][k],
                    maximum=given["max"][k],
                    nominal=given["nominal"][k],
                    unit=texts["unit"],
                    display_unit=texts["displayUnit"],
                    quantity=texts["quantity"],
                    description=leaf.declaration.description or leaf.original.description,
                    state_select=select,
                    literals=type_.type.literals if type_.kind is Kind.ENUMERATION else (),
                    text=bound if isinstance(bound, str) else "",
                    protected=leaf.protected,
                    final=leaf.final,
                    flow=leaf.connection == "flow",
                    evaluated=self._evaluator.parameters.evaluated.get(name, ""),
                    origin=origin,
                )
            )
        return result

    def _true(self, value: Expression) -> bool:
        return bool(self._evaluator.number(value, "it says whether a start value is fixed"))

    def _values(self, leaf: Component, binding: Binding | None) -> list[Expression | None]:
        """An attribute of every element; None where it is not given or is not a number."""
        count = len(all_indices(leaf.dims))
        if binding is None:
            return [None] * count
        value = self._names.bound_value(binding)
        return [v if isinstance(v, Expression) else None for v in self._spread(leaf, value)]

    def _spread(self, leaf: Component, value: Value) -> list[Value]:
        if not leaf.dims:
            if is_array(value) and value.size == 1:
                value = value.flat[0]
            if value is not None and not isinstance(value, (Expression, str)):
                raise SourceError("S011", f"the value of '{leaf.path}' is not a single number")
            return [value]
        return list(broadcast(value, leaf.dims).flat)

    def _word(self, binding: Binding | None) -> str:
        if binding is None:
            return ""
        value = self._names.bound_value(binding)
        if is_array(value) and value.size:
            value = value.flat[0]
        return value if isinstance(value, str) else ""

    def _select(self, binding: Binding | None) -> StateSelect:
        if binding is None:
            return StateSelect.DEFAULT
        value = self._names.bound_value(binding)
        if is_array(value) and value.size:
            value = value.flat[0]
        number = self._evaluator.number(value, "it selects states")
        return _SELECTS[int(number) - 1]

    def _bindings(self, leaf: Component) -> list[Value]:
        count = len(all_indices(leaf.dims))
        if leaf.variability not in ("parameter", "constant"):
            return [None] * count
        value = self._names.bound(leaf)
        type_ = leaf.leaf
        assert type_ is not None
        if value is None and type_.kind is not Kind.STRING:
            start = leaf.attributes.of("start").binding
            view = self._names.variable(scalar_names(leaf)[0]) if count else None
            if start is None or view is None or view.solved:
                return [None] * count
            self._evaluator.notes.append(
                f"parameter '{leaf.path}' has no value; its start value is used"
            )
            value = self._names.bound_value(start)
        if value is None:
            return [None] * count
        return self._spread(leaf, value)

    def _variability(
        self, leaf: Component, kind: Kind, name: str, discrete: frozenset[str]
    ) -> Variability:
        word = leaf.variability
        if word in ("parameter", "constant"):
            return Variability(word)
        if kind is not Kind.REAL or word == "discrete" or name in discrete:
            return Variability.DISCRETE
        return Variability.CONTINUOUS

    def _causality(self, leaf: Component) -> str:
        if leaf.variability in ("parameter", "constant"):
            return "local"
        word = leaf.causality
        top = leaf
        while top.parent is not None and not top.parent.is_root:
            if not top.parent.type.is_a("connector", "expandable connector", "record"):
                return "local"
            top = top.parent
            word = word or top.causality
        if word == "input" and not top.protected:
            return "local" if leaf.has_value else "input"
        return "output" if word == "output" and top is leaf and not top.protected else "local"


def _above(leaf: Component) -> str:
    return leaf.parent.path if leaf.parent is not None else ""


def scalar_names(leaf: Component) -> list[str]:
    """The names of all its scalars, row by row."""
    if not leaf.dims:
        return [leaf.path]
    return [
        f"{leaf.path}[{','.join([str(i + 1) for i in index])}]" for index in all_indices(leaf.dims)
    ]


def require_few(leaves: list[Component]) -> None:
    """Refuse models that are too large to be held."""
    total = 0
    for leaf in leaves:
        size = 1
        for n in leaf.dims:
            size *= n
        total += size
        if size > MOST_ELEMENTS or total > MOST_SCALARS:
            raise UnsupportedError(
                "U004",
                f"'{leaf.path}' has {size} elements, the model {total} variables or more; at most "
                f"{MOST_ELEMENTS} and {MOST_SCALARS} are supported; choose smaller sizes",
            )
