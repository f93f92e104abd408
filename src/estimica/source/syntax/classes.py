"""Classes of Modelica: heads at once, bodies on demand."""

from __future__ import annotations

from dataclasses import replace

from estimica.source.syntax import tree
from estimica.source.syntax.expressions import unescaped
from estimica.source.syntax.modifications import Modifications, too_deep
from estimica.source.syntax.tokens import CLASS_WORDS, Tokens, is_name

_CLASS_STARTS = CLASS_WORDS | {"encapsulated", "partial", "expandable", "pure", "impure"}
_KINDS = CLASS_WORDS | {"operator record", "operator function", "expandable connector"}
_ELEMENT_PREFIXES = frozenset(["redeclare", "final", "inner", "outer", "replaceable"])
_BASE_PREFIXES = frozenset(
    ["input", "output", "flow", "stream", "parameter", "constant", "discrete"]
)


class LazyBody:
    """The body of a long class, read by the first call."""

    __slots__ = ("_begin", "_end", "_found", "_reader", "_tokens")

    def __init__(self, reader: type[Classes], tokens: Tokens, begin: int, end: int) -> None:
        self._reader = reader
        self._tokens = tokens
        self._begin = begin
        self._end = end
        self._found: tree.Body | None = None

    def __call__(self) -> tree.Body:
        """Read once."""
        if self._found is None:
            try:
                self._found = self._reader(self._tokens, self._begin).body(self._end)
            except RecursionError:
                raise too_deep(self._tokens, self._begin) from None
        return self._found


class Elements:
    """What was found of a body so far."""

    __slots__ = (
        "annotation",
        "classes",
        "components",
        "extends",
        "external",
        "imports",
        "sections",
    )

    def __init__(self) -> None:
        self.components: list[tree.Component] = []
        self.classes: list[tree.ClassDefinition] = []
        self.extends: list[tree.Extends] = []
        self.imports: list[tree.Import] = []
        self.sections: list[tree.Section] = []
        self.external: tree.External | None = None
        self.annotation: tree.Annotation | None = None


class Classes(Modifications):
    """Reads classes, their elements, and what is redeclared in modifications."""

    # --- bodies ---

    def body(self, end: int) -> tree.Body:
        """All that stands before the word number `end`, which closes the class."""
        found = Elements()
        protected = False
        while self.i < end:
            word = self.texts[self.i]
            if word in ("public", "protected"):
                protected = word == "protected"
                self.i += 1
            elif word in ("equation", "algorithm", "initial"):
                found.sections.append(self._section(word))
            elif word == "annotation":
                found.annotation = self.annotation()
                self.expect(";")
            elif word == "external":
                found.external = self._external()
            else:
                self.element(found, protected)
        if self.i != end:
            self.fail(f"'end {self.texts[end + 1]}'")
        return tree.Body(
            tuple(found.components),
            tuple(found.classes),
            tuple(found.extends),
            tuple(found.imports),
            tuple(found.sections),
            found.external,
            found.annotation,
        )

    def _section(self, word: str) -> tree.Section:
        initial = word == "initial"
        if initial:
            self.i += 1
            word = self.texts[self.i]
            if word not in ("equation", "algorithm"):
                self.fail("'equation' or 'algorithm'")
        self.i += 1
        return tree.Section(word == "algorithm", initial, self.section(word == "algorithm"))

    def _external(self) -> tree.External:
        at = self.starts[self.i]
        self.expect("external")
        language = "C"
        if self.texts[self.i][:1] == '"':
            language = unescaped(self.texts[self.i])
            self.i += 1
        output: tree.Reference | None = None
        function = ""
        arguments: list[tree.Expression] = []
        if is_name(self.texts[self.i]):
            if self.texts[self.i + 1] != "(":
                output = self.reference()
                self.expect("=")
            function = self.name()
            self.expect("(")
            if self.texts[self.i] != ")":
                arguments.append(self.expression())
                while self.accept(","):
                    arguments.append(self.expression())
            self.expect(")")
        annotation = self.annotation()
        self.expect(";")
        return tree.External(language, output, function, tuple(arguments), at, annotation)

    # --- elements ---

    def element(self, found: Elements, protected: bool) -> None:
        """One import, extends, class or component clause with its semicolon."""
        word = self.texts[self.i]
        if word == "import":
            found.imports += self._import()
        elif word == "extends":
            found.extends.append(self._extends(protected))
        else:
            prefixes = self._prefixes(protected)
            if self.texts[self.i] in _CLASS_STARTS:
                found.classes.append(self.class_definition(prefixes))
            else:
                found.components += self._components(prefixes)
        self.expect(";")

    def _prefixes(self, protected: bool) -> tree.Prefixes:
        given: dict[str, bool] = {}
        while (word := self.texts[self.i]) in _ELEMENT_PREFIXES:  # in any order
            self.i += 1
            given[word] = True
        return tree.Prefixes(protected, **given) if protected or given else tree.NO_PREFIXES

    def _import(self) -> list[tree.Import]:
        at = self.starts[self.i]
        self.expect("import")
        self.accept(".")
        first = self.name()
        if self.accept("="):
            self.accept(".")
            found = [tree.Import(first, self.names(), at)]
        else:
            found = self._imported([first], at)
        self.description()
        self.skip_annotation()
        return found

    def _imported(self, path: list[str], at: int) -> list[tree.Import]:
        while True:
            if self.accept(".*"):  # one sign to the tokeniser
                return [tree.Import("*", tuple(path), at)]
            if not self.accept("."):
                return [tree.Import(path[-1], tuple(path), at)]
            if self.accept("*"):
                return [tree.Import("*", tuple(path), at)]
            if self.accept("{"):
                names = [self.name()]
                while self.accept(","):
                    names.append(self.name())
                self.expect("}")
                return [tree.Import(name, (*path, name), at) for name in names]
            path.append(self.name())

    def _extends(self, protected: bool) -> tree.Extends:
        at = self.starts[self.i]
        self.expect("extends")
        base = self.type_name()
        modification = self.class_modification()
        self.description()
        return tree.Extends(base, modification, protected, self.annotation(), at)

    def _components(self, prefixes: tree.Prefixes, only_one: bool = False) -> list[tree.Component]:
        connection = variability = causality = ""
        while (word := self.texts[self.i]) in _BASE_PREFIXES:  # in any order
            self.i += 1
            if word in ("flow", "stream"):
                connection = word
            elif word in ("input", "output"):
                causality = word
            else:
                variability = word
        kind = self.type_name()
        sizes = self.subscripts() if self.texts[self.i] == "[" else ()
        found = []
        while True:
            at = self.starts[self.i]
            name = self.component_name()
            own = self.subscripts() if self.texts[self.i] == "[" else ()
            modification = self.modification()
            condition = self.expression() if self.accept("if") else None
            description = self.description()
            found.append(
                tree.Component(
                    name,
                    kind,
                    (*own, *sizes),
                    modification,
                    prefixes,
                    connection,
                    variability,
                    causality,
                    condition,
                    None,
                    description,
                    self.annotation(),
                    at,
                    self.source,
                )
            )
            if only_one or not self.accept(","):
                break
        if self.texts[self.i] != "constrainedby":
            return found
        constraint = self._constraint()
        description = self.description()
        annotation = self.annotation()
        return [
            replace(
                c,
                constraint=constraint,
                description=c.description or description,
                annotation=c.annotation or annotation,
            )
            for c in found
        ]

    def component_name(self) -> str:
        """The name of a component where it is declared."""
        return self.name()

    def _constraint(self) -> tree.Constraint:
        at = self.starts[self.i]
        self.expect("constrainedby")
        return tree.Constraint(self.type_name(), self.class_modification(), at)

    def redeclaration(
        self, redeclare: bool, each: bool, final: bool, at: int
    ) -> tree.Redeclaration:
        """The element after `redeclare each final`, or from `replaceable` on."""
        replaceable = self.accept("replaceable")
        prefixes = tree.Prefixes(redeclare=redeclare, final=final, replaceable=replaceable)
        element: tree.Component | tree.ClassDefinition
        if self.texts[self.i] in _CLASS_STARTS:
            element = self.class_definition(prefixes)
        else:
            (element,) = self._components(prefixes, only_one=True)
        return tree.Redeclaration(element, each, final, at)

    # --- heads of classes ---

    def class_definition(self, prefixes: tree.Prefixes) -> tree.ClassDefinition:
        """One class without its semicolon; a long one's body is left for later."""
        at = self.starts[self.i]
        encapsulated = partial = False
        pure: bool | None = None
        words: list[str] = []
        while (word := self.texts[self.i]) in _CLASS_STARTS:
            self.i += 1
            if word == "encapsulated":
                encapsulated = True
            elif word == "partial":
                partial = True
            elif word in ("pure", "impure"):
                pure = word == "pure"
                self.accept("constant")  # Base Modelica says more of a function's purity
            else:
                words.append(word)
        kind = " ".join(words)
        if kind not in _KINDS:
            self.fail("a class: model, block, record, type, connector, package, function, …")
        opening = self.i - 1
        head = tree.ClassDefinition(
            "", kind, partial, encapsulated, prefixes, "", at, self.source, pure=pure
        )
        if self.texts[self.i] == "extends" or self.texts[self.i + 1] != "=":
            head = self._long(head, opening)
        else:
            name = self.name()
            self.i += 1
            head = self._short(replace(head, name=name))
        if self.texts[self.i] != "constrainedby":
            return head
        constraint = self._constraint()
        description = self.description()
        annotation = self.annotation()
        return replace(
            head,
            constraint=constraint,
            description=head.description or description,
            annotation=head.annotation or annotation,
        )

    def _long(self, head: tree.ClassDefinition, opening: int) -> tree.ClassDefinition:
        extends_itself = self.accept("extends")
        name = self.name()
        end = self.tokens.closing.get(opening)
        if end is None:
            self.fail("'=' or the body of a class")
        modification = self.class_modification() if extends_itself else None
        description = self.description()
        body = LazyBody(type(self), self.tokens, self.i, end)
        self.i = end + 2
        return replace(
            head,
            name=name,
            description=description,
            read_body=body,
            extends_itself=extends_itself,
            modification=modification,
            annotation=None,
        )

    def _short(self, head: tree.ClassDefinition) -> tree.ClassDefinition:
        if self.texts[self.i] == "enumeration" and self.texts[self.i + 1] == "(":
            self.i += 2
            if self.accept(":"):
                head = replace(head, literals=(), open_enumeration=True)
            else:
                head = replace(head, literals=self._literals())
            self.expect(")")
        elif self.accept("der"):
            self.expect("(")
            function = self.type_name()
            inputs = []
            while self.accept(","):
                inputs.append(self.name())
            if not inputs:
                self.fail("',' and the input to derive by")
            self.expect(")")
            head = replace(head, derivative=(function, tuple(inputs)))
        else:
            prefix = []
            while self.texts[self.i] in _BASE_PREFIXES:
                prefix.append(self.texts[self.i])
                self.i += 1
            kind = self.type_name()
            sizes = self.subscripts() if self.texts[self.i] == "[" else ()
            short = tree.Short(kind, sizes, self.class_modification(), " ".join(prefix))
            head = replace(head, short=short)
        description = self.description()
        return replace(head, description=description, annotation=self.annotation())

    def _literals(self) -> tuple[tuple[str, str], ...]:
        found = []
        if self.texts[self.i] != ")":
            while True:
                name = self.name()
                found.append((name, self.description()))
                self.skip_annotation()
                if not self.accept(","):
                    break
        return tuple(found)
