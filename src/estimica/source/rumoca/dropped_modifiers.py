"""Modifiers that the compiler would drop without a word, found before it reads them.

The rules are measured: for each form of modification a model with an observable value was given to
rumoca 0.10.2, and what it made of it compared with chapter 7 of the language specification.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from estimica.base.errors import SourceError
from estimica.source.decode.origins import SourceFiles
from estimica.source.libraries.package_text import read_text
from estimica.source.request import Request
from estimica.source.rumoca.class_table import ClassTable, Member, Scope
from estimica.source.rumoca.declarations import (
    ClassDeclaration,
    ComponentDeclaration,
    Extends,
    Modifier,
)
from estimica.source.rumoca.process import RUMOCA_VERSION
from estimica.source.syntax.nodes import USER_DOCUMENT

_OWN_CLASS = "give it a class of its own, `{word} New = {base}(...);`, and redeclare to `New`"
_NESTED = "extend the inner class with the redeclaration, and use that class"


@dataclass(frozen=True, slots=True)
class Loss:
    """A place of the source, `at` to `end` in the text of `scope`, whose meaning would change.

    slight: it seldom changes a number; in a library, where nobody can rewrite it, a note will do.
    """

    scope: Scope
    at: int
    end: int
    why: str
    advice: str
    slight: bool = False


def checked(request: Request) -> tuple[str, ...]:
    """Raise where the compiler would make another model of the request; notes on what is slight."""
    found = losses(ClassTable(request.document, request.libraries), request.class_name)
    notes = []
    for loss in found:
        where, text = _place(loss, request)
        if not (loss.slight and loss.scope.path is not None):
            raise SourceError(
                "S033",
                f"class '{request.class_name}' ({where}): `{text}`: the Modelica compiler (rumoca "
                f"{RUMOCA_VERSION}) would silently make another model of this ({loss.why}); "
                f"{loss.advice}, or load it with OpenModelica (frontend 'openmodelica')",
            )
        notes.append(f"{where}: the Modelica compiler does not heed `{text}` ({loss.why})")
    return tuple(dict.fromkeys(notes))


def _place(loss: Loss, request: Request) -> tuple[str, str]:
    """File and line of a loss, and what stands there."""
    path = loss.scope.path
    if path is None:
        files = SourceFiles(
            request.document, Path(request.label).name or "text", pieces=request.pieces
        )
        text = request.document
    else:
        text = read_text(path)
        files = SourceFiles(text, path.name)
    origin = files.origin({"source": USER_DOCUMENT, "start": loss.at, "end": loss.end}, "modifier")
    return f"{origin.file}, line {origin.line}", " ".join(text[loss.at : loss.end].split())


def losses(table: ClassTable, class_name: str) -> list[Loss]:
    """What the compiler would drop of the class and of all that it may use."""
    scopes = list(reachable(table, class_name))
    called = {name.rpartition(".")[2] for s in scopes for name in s.declaration.calls}
    checker = _Checker(table, called)
    return [loss for scope in scopes for loss in checker.of(scope)]


def reachable(table: ClassTable, class_name: str) -> Iterator[Scope]:
    """The class and those that names in it lead to: at least all that the model is made of."""
    start = table.find(class_name)
    pending = deque([start] if start is not None else [])
    seen = set(pending)
    mentioned: set[str] = set()
    waiting: dict[str, list[Scope]] = {}  # in packages put in place; used once they are mentioned
    while pending:
        scope = pending.popleft()
        yield scope
        following = list(_used(table, scope))
        for member in _put_in_place(table, scope):
            waiting.setdefault(member.declaration.name, []).append(member)
        mentioned.update(part for name in scope.declaration.names for part in name.split("."))
        for name in mentioned & waiting.keys():
            following += waiting.pop(name)
        for one in following:
            if one not in seen:
                seen.add(one)
                pending.append(one)


def _used(table: ClassTable, scope: Scope) -> Iterator[Scope]:
    declared = scope.declaration
    if declared.word == "package" and not declared.short:
        # on the way to one of its classes; what it sets for them counts
        for extends in declared.extends:
            base = table.base(scope, extends)
            if base is not None and base.declaration.word == "package":
                yield base
        return
    for name in declared.names:
        yield from _on_the_way(table, scope, name)


def _on_the_way(table: ClassTable, scope: Scope, name: str) -> Iterator[Scope]:
    """The class that a dotted name means, and the packages that it goes through."""
    parts = name.split(".")
    for k in range(1, len(parts) + 1):
        found = table.resolve(scope, ".".join(parts[:k]))
        if found is None:
            return
        if k == len(parts) or found.declaration.word == "package":
            yield found


def _put_in_place(table: ClassTable, scope: Scope) -> Iterator[Scope]:
    """The classes of packages that take another's place: any may be used by its name."""
    for package in _replacements(scope.declaration):
        target = table.resolve(scope, package) or table.resolve(scope.parent or scope, package)
        if target is not None:
            yield from _members(table, target)


def _replacements(declared: ClassDeclaration) -> Iterator[str]:
    if declared.short and declared.word == "package" and declared.extends:
        yield declared.extends[0].base
    inherited = (m for e in declared.extends for m in e.modifiers)
    owned = (m for c in declared.components for m in c.modifiers)
    for modifier in _all_modifiers((*inherited, *owned)):
        new = modifier.redeclares
        if isinstance(new, ClassDeclaration):
            yield from _replacements(new)
    for inner in declared.classes:
        if inner.short:
            yield from _replacements(inner)


def _members(table: ClassTable, package: Scope) -> Iterator[Scope]:
    """All classes of a package and of its bases."""
    if package.declaration.word != "package":
        return
    yield from table.inner_classes(package)
    for extends in package.declaration.extends:
        base = table.base(package, extends)
        if base is not None and base is not package:
            yield from _members(table, base)


def _all_modifiers(modifiers: Iterable[Modifier]) -> Iterator[Modifier]:
    for modifier in modifiers:
        yield modifier
        yield from _all_modifiers(modifier.inner)
        if modifier.redeclares is not None:
            yield from _all_modifiers(modifier.redeclares.modifiers)


@dataclass(frozen=True, slots=True)
class _Site:
    """Where a modification stands: where its names are looked up, in what, on what, how deep."""

    scope: Scope
    owner: Scope  # the class that it is part of
    target: Scope | None
    inherits: bool  # part of an extends clause or a short class, not of a component
    depth: int = 1

    def inside(self, target: Scope | None) -> _Site:
        return dataclasses.replace(self, target=target, depth=self.depth + 1)


class _Checker:
    """`called` are the functions that some class in use calls, by the last part of the name."""

    def __init__(self, table: ClassTable, called: set[str]) -> None:
        self._table = table
        self._called = called

    def of(self, scope: Scope) -> Iterator[Loss]:
        """The losses in the clauses and declarations of one class."""
        declared = scope.declaration
        for extends in declared.extends:
            base = self._table.base(scope, extends)
            around = scope.parent if declared.short and scope.parent else scope
            yield from self._modification(
                _Site(around, scope, base, inherits=True), extends.modifiers
            )
            yield from self._function_base(scope, base, extends)
            if declared.word == "package":
                yield from self._constants(scope, base, extends)
        for component in declared.components:
            yield from self._constraint(scope, component)
            target = self._table.resolve(scope, component.type)
            yield from self._modification(
                _Site(scope, scope, target, inherits=False), component.modifiers
            )
            if component.redeclare:
                original = self._table.inherited(scope, component.name)
                yield from self._replaced(scope, component, original, element=True)
        yield from self._inner_classes(scope)
        for extends in declared.extends:
            yield from self._spread_from(scope, self._table.base(scope, extends), {scope})

    def _inner_classes(self, scope: Scope) -> Iterator[Loss]:
        for inner in scope.declaration.classes:
            yield from self._constraint(scope, inner)
            if inner.redeclare:
                yield from self._redeclared_element(scope, inner)

    def _modification(self, site: _Site, modifiers: Sequence[Modifier]) -> Iterator[Loss]:
        for modifier in modifiers:
            if modifier.redeclares is not None:
                yield from self._redeclaration(site, modifier, modifier.redeclares)
            elif "." in modifier.name:
                head, _, rest = modifier.name.partition(".")
                yield Loss(
                    site.scope, modifier.at, modifier.end, "a modifier with a dotted name",
                    f"write {head}({rest} = ...)",
                )  # fmt: skip
            else:
                yield from self._plain(site, modifier)

    def _plain(self, site: _Site, modifier: Modifier) -> Iterator[Loss]:
        target = site.target
        member = self._table.member(target, modifier.name) if target is not None else None
        if member is None:
            return
        if isinstance(member.declared, ClassDeclaration):
            if modifier.inner:
                yield Loss(
                    site.scope, modifier.at, modifier.end,
                    f"modifiers of the class '{modifier.name}'",
                    f"redeclare '{modifier.name}' as a class of its own that has them",
                    slight=member.declared.word == "type",
                )  # fmt: skip
            return
        inner = self._table.resolve(member.owner, member.declared.type)
        if modifier.bound and modifier.inner and (site.inherits or site.depth > 1):
            yield Loss(
                site.scope, modifier.at, modifier.end,
                f"the value of '{modifier.name}' beside modifiers of it",
                f"leave the modifiers out: {modifier.name} = ...",
            )  # fmt: skip
        if modifier.bound and inner is not None and inner.declaration.word == "record":
            yield from self._whole_record(site, modifier, member)
        yield from self._modification(site.inside(inner), modifier.inner)

    def _whole_record(self, site: _Site, modifier: Modifier, member: Member) -> Iterator[Loss]:
        """Fields set at the declaration win over the record that is given from outside."""
        assert isinstance(member.declared, ComponentDeclaration)
        fields = [m.name for m in member.declared.modifiers if m.bound]
        fields += [f.name for m in _modifiers_of(modifier.name, member.way) for f in m.inner]
        if fields:
            yield Loss(
                site.scope, modifier.at, modifier.end,
                f"a value for the whole record '{modifier.name}', whose declaration sets "
                f"{', '.join(fields)}",
                f"give the fields one by one, {modifier.name}({fields[0]} = ..., ...)",
                slight=True,
            )  # fmt: skip

    def _redeclaration(
        self, site: _Site, modifier: Modifier, new: ComponentDeclaration | ClassDeclaration
    ) -> Iterator[Loss]:
        place = site.scope, modifier.at, modifier.end
        if site.depth > 1:
            yield Loss(*place, "a redeclaration inside of another modifier", _NESTED)
            return
        yield from self._constraint(site.scope, new)
        member = self._table.member(site.target, modifier.name) if site.target is not None else None
        yield from self._replaced(site.scope, new, member, element=False)
        holder = site.owner if site.inherits else site.target if member and member.way else None
        yield from self._spread(holder, new, member, place)
        if isinstance(new, ComponentDeclaration):
            if site.inherits and member is not None and member.way:
                yield Loss(
                    *place, f"a redeclaration of '{new.name}', which the base has from another",
                    "redeclare it in the body of the class: redeclare ... "
                    f"{new.name};",
                )  # fmt: skip
            if new.bound:
                yield Loss(
                    *place, "the value of a redeclared component",
                    f"write the value as a modifier of its own, {new.name} = ..., or redeclare "
                    "in the body of a class that extends the other",
                )  # fmt: skip
            target = self._table.resolve(site.scope, new.type)
            yield from self._modification(site.inside(target), new.modifiers)
        else:
            yield from self._redeclared_class(site, new)

    def _redeclared_class(self, site: _Site, new: ClassDeclaration) -> Iterator[Loss]:
        if not new.extends:
            return
        base = self._table.resolve(site.scope, new.extends[0].base)
        if new.word == "function":
            if new.name not in self._called:
                return
            if new.modifiers and site.owner.declaration.word == "package":
                yield self._with_modifiers(site.scope, new)
            elif base is not None and self._modified_function(base):
                yield self._modified_base(site.scope, new.at, new.end, base)
        elif new.modifiers:
            yield self._with_modifiers(site.scope, new)

    def _redeclared_element(self, scope: Scope, new: ClassDeclaration) -> Iterator[Loss]:
        """`redeclare function f = g(a = 5);` and the like in the body of a class."""
        original = self._table.inherited(scope, new.name)
        yield from self._replaced(scope, new, original, element=True)
        yield from self._spread(scope, new, original, (scope, new.at, new.end))
        if new.short and new.modifiers and new.word in ("function", "package"):
            package = scope.declaration.word == "package"
            if not (new.word == "function" and package):
                yield self._with_modifiers(scope, new)

    def _replaced(
        self,
        scope: Scope,
        new: ComponentDeclaration | ClassDeclaration,
        original: Member | None,
        element: bool,
    ) -> Iterator[Loss]:
        """Modifiers of the declaration that is replaced: some go on to hold, others do not."""
        if original is None:
            return
        old = original.declared
        given = {m.name for m in new.modifiers}
        held = old.constraint is None  # without constrainedby they hold for the new one too
        right = held != element if isinstance(old, ComponentDeclaration) else not held
        if not right and any(m.name not in given for m in old.modifiers):
            yield Loss(
                scope, new.at, new.end,
                f"the modifiers of '{new.name}' at its declaration "
                + ("hold for what replaces it" if held else "do not hold for what replaces it"),
                "repeat them at the new declaration in a class of its own, or leave them out of "
                "the replaceable one",
            )  # fmt: skip

    def _spread(
        self,
        holder: Scope | None,
        new: ComponentDeclaration | ClassDeclaration,
        original: Member | None,
        place: tuple[Scope, int, int],
    ) -> Iterator[Loss]:
        """A redeclared class that `holder` inherits is redeclared in its components too."""
        if holder is None or original is None or isinstance(new, ComponentDeclaration):
            return
        for component in self._parts(holder, set()):
            kind = self._table.resolve(component[0], component[1].type)
            found = self._table.member(kind, new.name) if kind is not None else None
            same = found is not None and found.declared is original.declared
            if same and not _is_given(component[1], new):
                yield Loss(
                    *place,
                    f"the class '{new.name}' of the component '{component[1].name}' would be "
                    "redeclared with it",
                    "put that component into another class than the one that is redeclared",
                )  # fmt: skip
                return

    def _spread_from(
        self, holder: Scope, ancestor: Scope | None, seen: set[Scope]
    ) -> Iterator[Loss]:
        """The same with what the ancestors of `holder` redeclare."""
        if ancestor is None or ancestor in seen:
            return
        seen.add(ancestor)
        declared = ancestor.declaration
        news = [m.redeclares for e in declared.extends for m in e.modifiers]
        for new in (*news, *(c for c in declared.classes if c.redeclare)):
            if isinstance(new, ClassDeclaration):
                original = self._table.inherited(ancestor, new.name)
                yield from self._spread(holder, new, original, (ancestor, new.at, new.end))
        for extends in declared.extends:
            yield from self._spread_from(holder, self._table.base(ancestor, extends), seen)

    def _parts(
        self, scope: Scope, seen: set[Scope]
    ) -> Iterator[tuple[Scope, ComponentDeclaration]]:
        """Components of a class and of its bases, and theirs in turn, each with its class."""
        if scope in seen:
            return
        seen.add(scope)
        for component in scope.declaration.components:
            yield scope, component
            kind = self._table.resolve(scope, component.type)
            if kind is not None:
                yield from self._parts(kind, seen)
        for extends in scope.declaration.extends:
            base = self._table.base(scope, extends)
            if base is not None:
                yield from self._parts(base, seen)

    def _constraint(
        self, scope: Scope, declared: ComponentDeclaration | ClassDeclaration
    ) -> Iterator[Loss]:
        if declared.constraint:
            first, last = declared.constraint[0], declared.constraint[-1]
            yield Loss(
                scope, first.at, last.end, "modifiers of a constrainedby clause",
                "write them at the component or class itself",
            )  # fmt: skip

    # --- functions and constants of packages ---

    def _function_base(self, scope: Scope, base: Scope | None, extends: Extends) -> Iterator[Loss]:
        if (
            scope.declaration.word == "function"
            and base is not None
            and self._modified_function(base)
        ):
            yield self._modified_base(scope, extends.at, extends.end, base)

    def _modified_function(self, function: Scope) -> bool:
        declared = function.declaration
        return declared.word == "function" and any(e.modifiers for e in declared.extends)

    def _modified_base(self, scope: Scope, at: int, end: int, base: Scope) -> Loss:
        return Loss(
            scope, at, end,
            f"the modifiers of the function '{base.declaration.name}'",
            "write the function out, with those defaults",
        )  # fmt: skip

    def _with_modifiers(self, scope: Scope, new: ClassDeclaration) -> Loss:
        base = new.extends[0].base
        return Loss(
            scope, new.at, new.end, f"the modifiers of '{base}' in a redeclaration",
            _OWN_CLASS.format(word=new.word, base=base),
        )  # fmt: skip

    def _constants(self, scope: Scope, base: Scope | None, extends: Extends) -> Iterator[Loss]:
        """A constant of a package keeps the first value that an extends clause gave it."""
        for modifier in extends.modifiers if base is not None else ():
            assert base is not None
            member = self._table.member(base, modifier.name)
            if member is None or not isinstance(member.declared, ComponentDeclaration):
                continue
            place = scope, modifier.at, modifier.end
            if modifier.bound and _modifiers_of(modifier.name, member.way):
                yield Loss(
                    *place,
                    f"the constant '{modifier.name}', which a base of '{base.name}' has set "
                    "already",
                    f"extend '{member.owner.name}' itself, with all its constants",
                    slight=member.declared.type == "String",
                )  # fmt: skip
            kind = self._table.resolve(member.owner, member.declared.type)
            if kind is not None and kind.declaration.word == "record" and not member.declared.array:
                yield Loss(
                    *place, f"the record '{modifier.name}', a constant of a package",
                    "write its fields as constants of their own",
                )  # fmt: skip


def _modifiers_of(name: str, way: Sequence[Extends]) -> list[Modifier]:
    """What the clauses on the way to a declaration say on it."""
    return [m for extends in way for m in extends.modifiers if m.name == name]


def _is_given(component: ComponentDeclaration, redeclared: ClassDeclaration) -> bool:
    """Whether a component is given its own class, or the redeclared one on purpose.

    With packages the compiler mixes up the two, unless they are the same.
    """
    for modifier in component.modifiers:
        new = modifier.redeclares
        if isinstance(new, ClassDeclaration) and new.name == redeclared.name and new.extends:
            same = new.extends[0].base == redeclared.name
            return same or new.word not in ("package", "function")
    return False
