"""Lookup of classes by name: in the document, and in libraries, read file by file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from estimica.source.libraries.package_text import read_text
from estimica.source.libraries.search import Library
from estimica.source.rumoca.declarations import (
    ClassDeclaration,
    ComponentDeclaration,
    Extends,
    declarations,
)

Declared: TypeAlias = ClassDeclaration | ComponentDeclaration


@dataclass(eq=False, slots=True)
class Scope:
    """A class at its place: names in it are looked up from here."""

    declaration: ClassDeclaration
    name: str  # full
    parent: Scope | None
    path: Path | None  # None in the document
    folder: Path | None = None  # that holds further classes of a package
    children: dict[str, Scope | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Member:
    """What a class or one of its bases declares; `way` are the clauses that inherit it."""

    declared: Declared
    owner: Scope
    way: tuple[Extends, ...] = ()


class ClassTable:
    """All classes that a text and libraries hold."""

    def __init__(self, document: str, libraries: Iterable[Library]) -> None:
        self._roots: dict[str, Scope] = {}
        self._libraries = {library.name: library for library in libraries}
        self._resolved: dict[tuple[Scope, str], Scope | None] = {}
        self._active: set[tuple[Scope, str]] = set()  # lookups under way, against endless ones
        for declared in declarations(document):
            self._roots[declared.name] = Scope(declared, declared.name, None, None)

    def find(self, name: str) -> Scope | None:
        """The class of that full name."""
        first, *rest = name.split(".")
        scope = self._root(first)
        for part in rest:
            scope = self.child(scope, part) if scope is not None else None
        return scope

    def child(self, scope: Scope, name: str) -> Scope | None:
        """The class `name` that `scope` itself holds."""
        if name not in scope.children:
            scope.children[name] = self._child(scope, name)
        return scope.children[name]

    def resolve(self, scope: Scope, name: str) -> Scope | None:
        """The class that `name` means inside of `scope`; None where it is none that we can find."""
        key = (scope, name)
        if key in self._resolved:
            return self._resolved[key]
        if key in self._active:
            return None
        self._active.add(key)
        try:
            found = self._resolve(scope, name)
        finally:
            self._active.discard(key)
        self._resolved[key] = found
        return found

    def base(self, scope: Scope, extends: Extends) -> Scope | None:
        """The class that a clause of `scope` extends."""
        if not extends.own:
            # the base of a short class is looked up from outside of it
            around = scope.parent if scope.declaration.short else scope
            return self.resolve(around, extends.base) if around else self.find(extends.base)
        inherited = self.inherited(scope.parent, extends.base) if scope.parent else None
        return self._scope_of(inherited) if inherited is not None else None

    def member(self, scope: Scope, name: str) -> Member | None:
        """The class or component `name` of `scope` or of one of its bases."""
        child = self.child(scope, name)
        if child is not None:
            return Member(child.declaration, scope)
        for component in scope.declaration.components:
            if component.name == name:
                return Member(component, scope)
        return self.inherited(scope, name)

    def inherited(self, scope: Scope, name: str) -> Member | None:
        """The class or component `name` of one of the bases of `scope`."""
        key = (scope, f"{name} of a base")
        if key in self._active:
            return None
        self._active.add(key)
        try:
            for extends in scope.declaration.extends:
                base = self.base(scope, extends)
                if base is None or base is scope:
                    continue
                found = self.member(base, name)
                if found is not None:
                    return Member(found.declared, found.owner, (extends, *found.way))
        finally:
            self._active.discard(key)
        return None

    def inner_classes(self, scope: Scope) -> Iterator[Scope]:
        """The classes that `scope` itself holds."""
        names = {c.name for c in scope.declaration.classes}
        if scope.folder is not None:
            names |= {p.stem for p in scope.folder.glob("*.mo") if p.name != "package.mo"}
            names |= {p.parent.name for p in scope.folder.glob("*/package.mo")}
        for name in sorted(names):
            child = self.child(scope, name)
            if child is not None:
                yield child

    # --- steps ---

    def _root(self, name: str) -> Scope | None:
        if name not in self._roots and name in self._libraries:
            library = self._libraries[name]
            folder = library.root if library.root.is_dir() else None
            scope = self._read(library.main_file, None, folder)
            if scope is not None:
                self._roots[name] = scope
        return self._roots.get(name)

    def _child(self, scope: Scope, name: str) -> Scope | None:
        for declared in scope.declaration.classes:
            if declared.name == name:
                return Scope(declared, f"{scope.name}.{name}", scope, scope.path)
        if scope.folder is not None:
            inner = scope.folder / name
            if (inner / "package.mo").is_file():
                return self._read(inner / "package.mo", scope, inner)
            if (scope.folder / f"{name}.mo").is_file():
                return self._read(scope.folder / f"{name}.mo", scope, None)
        return None

    def _read(self, path: Path, parent: Scope | None, folder: Path | None) -> Scope | None:
        declared = declarations(read_text(path))
        if not declared:
            return None
        name = f"{parent.name}.{declared[0].name}" if parent else declared[0].name
        return Scope(declared[0], name, parent, path, folder)

    def _resolve(self, scope: Scope, name: str) -> Scope | None:
        first, *rest = name.split(".")
        if not first:
            return self.find(".".join(rest))
        found: Scope | None = None
        at: Scope | None = scope
        while at is not None and found is None:
            member = self.member(at, first)
            if member is not None:
                if isinstance(member.declared, ComponentDeclaration):
                    return None
                found = self._scope_of(member)
            else:
                found = self._imported(at, first)
            at = at.parent
        if found is None:
            found = self._root(first)
        for part in rest:
            member = self.member(found, part) if found is not None else None
            found = self._scope_of(member) if member is not None else None
        return found

    def _scope_of(self, member: Member) -> Scope | None:
        return self.child(member.owner, member.declared.name)

    def _imported(self, scope: Scope, name: str) -> Scope | None:
        for clause in scope.declaration.imports:
            if clause.alias == name:
                return self.find(clause.target)
            if clause.alias == "*":
                package = self.find(clause.target)
                member = self.member(package, name) if package is not None else None
                if member is not None:
                    return self._scope_of(member)
        return None
