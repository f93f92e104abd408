"""What the names of a flat model stand for: variables, slices of components, literals."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from estimica.base.errors import UnsupportedError
from estimica.flat import expression as ex
from estimica.flat.system import Kind, Variability
from estimica.source.interpreter.values import (
    MOST_ELEMENTS,
    Array,
    Value,
    full,
    is_array,
    make_nested,
)

_PART = re.compile(r"((?:'[^']*'|[^.\[\]']+))((?:\[[^\]]*\])*)")


#: scalar variables of a model: some 2 kB each until they are equations; the largest examples of
#: the Modelica Standard Library have 20,000
MOST_SCALARS = 500_000


class Declaration:
    """One declaration of the flat model, perhaps of an array."""

    __slots__ = ("dims", "kind", "name", "raw", "symbol", "variability")

    def __init__(self, name: str, raw: Mapping[str, Any], kind: Kind) -> None:
        self.name = name
        self.raw = raw
        self.kind = kind
        self.variability = _variability(raw, kind)
        self.dims = tuple(int(d) for d in raw["dims"])
        self.symbol: Value = symbol(name, self.dims)

    @property
    def is_parameter(self) -> bool:
        """Whether its value is settled before the run."""
        return self.variability in (Variability.PARAMETER, Variability.CONSTANT)

    def elements(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """The names of its scalars with their index into an array of `dims`."""
        if not self.dims:
            yield self.name, ()
            return
        assert is_array(self.symbol)
        for index in _indices(self.dims):
            yield self.symbol[index].target, index


def _require_few(variables: Mapping[str, Mapping[str, Any]]) -> None:
    sizes = {name: math.prod(int(d) for d in raw["dims"]) for name, raw in variables.items()}
    largest = max(sizes, key=sizes.__getitem__, default="")
    if largest and (sizes[largest] > MOST_ELEMENTS or sum(sizes.values()) > MOST_SCALARS):
        raise UnsupportedError(
            "U004",
            f"'{largest}' has {sizes[largest]} elements, the model {sum(sizes.values())} variables "
            f"in all; at most {MOST_ELEMENTS} and {MOST_SCALARS} are supported; choose smaller "
            "sizes",
        )


def symbol(name: str, dims: tuple[int, ...]) -> Value:
    """The name leaf of a scalar, or the array of the name leaves of an array's elements."""
    if not dims:
        return ex.name(name)
    result = full(dims, None)
    for index in _indices(dims):
        result[index] = ex.name(f"{name}[{','.join(str(i + 1) for i in index)}]")
    return result


def split_name(name: str) -> list[tuple[str, tuple[int, ...]]]:
    """`a[2].b[1,3]` as [('a', (2,)), ('b', (1, 3))]."""
    parts = []
    for ident, brackets in _PART.findall(name):
        inner = ",".join(b for b in re.findall(r"\[([^\]]*)\]", brackets))
        parts.append((ident, tuple(int(i) for i in inner.split(",")) if inner else ()))
    return parts


class NameTable:
    """Looks names up as values: a scalar, an array, a record, or an array of records."""

    def __init__(self, flat: Mapping[str, Any]) -> None:
        kinds = _Kinds(flat)
        self.declared: dict[str, Declaration] = {}
        #: bindings of external objects, which are not variables
        self.handles: dict[str, Mapping[str, Any]] = {}
        _require_few(flat["variables"])
        for name, raw in flat["variables"].items():
            kind = kinds.kind(raw)
            if kind is None:
                self.handles[name] = raw["binding"]
            else:
                self.declared[name] = Declaration(name, raw, kind)
        self._literals: dict[str, int] = flat["enum_literal_ordinals"]
        self.owner: dict[str, Declaration] = {}
        self.position: dict[str, tuple[int, ...]] = {}
        for declared in self.declared.values():
            for name, index in declared.elements():
                self.owner[name] = declared
                self.position[name] = index
        self._plain: dict[str, list[Declaration]] | None = None
        self._components: dict[str, Value] | None = None
        self._found: dict[str, Value] = {}

    def lookup(self, name: str) -> Value:
        """The value that `name` stands for, None where nothing of that name exists."""
        declared = self.declared.get(name)
        if declared is not None:
            return declared.symbol
        if name not in self._found:
            self._found[name] = self._search(name)
        return self._found[name]

    def by_plain_name(self, name: str) -> list[Declaration]:
        """The variables of that name when the subscripts of components are left out."""
        if name in self.declared:
            return [self.declared[name]]
        if self._plain is None:
            self._plain = {}
            for declared in self.declared.values():
                plain = ".".join(ident for ident, _ in split_name(declared.name))
                self._plain.setdefault(plain, []).append(declared)
        return self._plain.get(name, [])

    def literals_of(self, type_name: str) -> tuple[str, ...]:
        """The names of the values of an enumeration, in order."""
        by_type: dict[str, dict[str, int]] = {}
        for literal, ordinal in self._literals.items():
            owner, _, last = literal.rpartition(".")
            if "'" not in last:
                by_type.setdefault(owner, {})[last] = ordinal
        found = [
            v
            for k, v in by_type.items()
            if k == type_name or k.endswith("." + type_name) or type_name.endswith("." + k)
        ]
        return tuple(sorted(found[0], key=found[0].__getitem__)) if found else ()

    def _search(self, name: str) -> Value:
        if name == "time":
            return ex.TIME
        if name in self.owner:
            return ex.name(name)
        try:
            value = self._component(name)
        except (IndexError, ValueError):  # a subscript that is too large, or no number
            value = None
        return value if value is not None else self._literal(name)

    def _literal(self, name: str) -> Value:
        if name in self._literals:
            return ex.const(self._literals[name])
        # a literal may be named through an enclosing class or an alias of its type
        tail = ".".join(name.split(".")[-2:])
        if "." in tail:
            found = {
                ordinal
                for literal, ordinal in self._literals.items()
                if literal == tail or literal.endswith("." + tail)
            }
            if len(found) == 1:
                return ex.const(found.pop())
        return None

    def _component(self, name: str) -> Value:
        if self._components is None:
            self._components = _tree(self.declared)
        value: Value = self._components
        for ident, subscripts in split_name(name):
            if is_array(value):
                value = _field_of_all(value, ident)
            elif isinstance(value, dict):
                value = value.get(ident)
            else:
                return None
            if value is None:
                return None
            if subscripts:
                if not is_array(value):
                    return None
                value = value[tuple(i - 1 for i in subscripts)]
        return value


def _field_of_all(value: Array, ident: str) -> Value:
    fields = [v.get(ident) if isinstance(v, dict) else None for v in value.flat]
    return None if any(f is None for f in fields) else make_nested(fields, value.shape)


def _tree(declared: Mapping[str, Declaration]) -> dict[str, Value]:
    """All variables as nested records; arrays of components as arrays of records."""
    root: dict[str, Any] = {}
    for d in declared.values():
        branch = root
        parts = split_name(d.name)
        for ident, subscripts in parts[:-1]:
            branch = (
                branch.setdefault(ident, {})
                if not subscripts
                else _element(branch, ident, subscripts)
            )
        ident, subscripts = parts[-1]
        if subscripts:
            branch.setdefault(ident, _Elements())[subscripts] = d.symbol
        else:
            branch[ident] = d.symbol
    return {k: _settled(v) for k, v in root.items()}


class _Elements(dict[tuple[int, ...], Any]):
    """The elements of an array of components while the tree grows."""


def _element(branch: dict[str, Any], ident: str, subscripts: tuple[int, ...]) -> dict[str, Any]:
    elements = branch.setdefault(ident, _Elements())
    found: dict[str, Any] = elements.setdefault(subscripts, {})
    return found


def _settled(value: Any) -> Value:
    if isinstance(value, _Elements):
        shape = tuple(max(k[i] for k in value) for i in range(len(next(iter(value)))))
        flat: list[Value] = [
            _settled(value.get(tuple(i + 1 for i in index))) for index in _indices(shape)
        ]
        return make_nested(flat, shape)
    if isinstance(value, dict):
        return {k: _settled(v) for k, v in value.items()}
    result: Value = value
    return result


def _indices(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if not shape:
        yield ()
        return
    for first in range(shape[0]):
        for rest in _indices(shape[1:]):
            yield (first, *rest)


def _variability(raw: Mapping[str, Any], kind: Kind) -> Variability:
    prefix = raw["variability"]
    word = next(iter(prefix)) if isinstance(prefix, dict) else prefix
    match word:
        case "Parameter":
            return Variability.PARAMETER
        case "Constant":
            return Variability.CONSTANT
        case "Discrete":
            return Variability.DISCRETE
    return Variability.CONTINUOUS if kind is Kind.REAL else Variability.DISCRETE


class _Kinds:
    """The compiler's type numbers as kinds."""

    def __init__(self, flat: Mapping[str, Any]) -> None:
        names = {
            "real": Kind.REAL,
            "integer": Kind.INTEGER,
            "boolean": Kind.BOOLEAN,
            "string": Kind.STRING,
        }
        self._plain = {flat["predefined_types"][n]: kind for n, kind in names.items()}
        self._plain.update(dict.fromkeys(flat["enumeration_type_roots"], Kind.ENUMERATION))
        self._effective = flat["effective_types"]

    def kind(self, raw: Mapping[str, Any]) -> Kind | None:
        """None for the handle of an external object."""
        number = raw["type_id"]
        effective = self._effective.get(str(number))
        canonical = effective["canonical_type"] if effective else number
        return self._plain.get(canonical)
