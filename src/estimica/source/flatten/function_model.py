"""A function as a model: its inputs become inputs and parameters, its outputs are computed."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from estimica.base.errors import SourceError
from estimica.base.suggest import did_you_mean
from estimica.source.instance.classes import Class
from estimica.source.instance.components import Component
from estimica.source.instance.modifiers import NONE, Binding, Modifiers
from estimica.source.syntax import tree


def function_as_model(function: Class, inputs: Sequence[str]) -> Class:
    """The model of a function; those of its inputs not in `inputs` are parameters.

    Without `inputs`, parameters are those that have a default. Fields and elements that are named
    alone, as `s.T`, are parameters here as the others of their record; `of_function` turns them.
    """
    arguments = [c for c in function.components() if c.causality in ("input", "output")]
    _check(function.name, arguments, inputs)
    return _FunctionModel(function, arguments, inputs)


def _check(name: str, arguments: Sequence[Component], inputs: Sequence[str]) -> None:
    known = [a.name for a in arguments if a.causality == "input"]
    if not any(a.causality == "output" for a in arguments):
        raise SourceError("S050", f"function '{name}' has no output to be compared with data")
    for given in inputs:
        if given.partition(".")[0].partition("[")[0] not in known:
            hint = did_you_mean(given, known) or f" (inputs: {', '.join(known)})"
            raise SourceError("S051", f"function '{name}' has no input '{given}'{hint}")


class _FunctionModel(Class):
    """A class with the inputs and outputs of a function and the equation of one call."""

    __slots__ = ("_arguments", "_function", "_inputs")

    def __init__(
        self, function: Class, arguments: Sequence[Component], inputs: Sequence[str]
    ) -> None:
        self._function = function
        self._arguments = arguments
        self._inputs = inputs
        super().__init__(
            _definition(function.definition, arguments), function.outer, NONE, function.world
        )
        self._resolving = False
        self._order = [a.name for a in arguments]
        for argument in arguments:
            varies = argument.name in inputs or (not inputs and argument.binding is None)
            self._members[argument.name] = self._component(argument, varies)

    def again(self) -> Class:
        """The same once more, for the model to be an instance of it."""
        return _FunctionModel(self._function, self._arguments, self._inputs)

    def _component(self, argument: Component, varies: bool) -> Component:
        output = argument.causality == "output"
        free = output or varies
        declaration = dataclasses.replace(
            argument.declaration,
            causality="output" if output else "input" if varies else "",
            variability="" if free else "parameter",
            prefixes=tree.NO_PREFIXES,
            modification=None,
        )
        component = Component(
            self,
            declaration,
            declaration,
            self,
            self._seen_here(argument.modifiers, free),
            self._seen_here(argument.default, free),
            self.world,
        )
        component._type = argument.type  # found where the argument is declared
        return component

    def _seen_here(self, modifiers: Modifiers, free: bool) -> Modifiers:
        """What is said of an argument, with the names of the function meaning those here."""
        own = set(self._function.ancestors())

        def moved(binding: Binding | None) -> Binding | None:
            if binding is None or binding.scope not in own:
                return binding
            return dataclasses.replace(binding, scope=self)

        members = {k: self._seen_here(m, False) for k, m in modifiers.members.items()}
        binding = None if free else moved(modifiers.binding)
        return dataclasses.replace(modifiers, members=members, binding=binding)

    def find(self, name: str) -> Component | Class | None:
        found = self._members.get(name)
        return found if found is not None else self._function.find(name)

    def lookup(self, name: str) -> Component | Class | None:
        found = self._members.get(name)
        for known in (self._function, *self._function.ancestors()):
            if found is None:
                found = known.lookup(name)
        return found


def _definition(
    function: tree.ClassDefinition, arguments: Sequence[Component]
) -> tree.ClassDefinition:
    at = function.at

    def named(name: str) -> tree.Reference:
        return tree.Reference((tree.Part(name),), at)

    given = tuple((a.name, named(a.name)) for a in arguments if a.causality == "input")
    outputs = [named(a.name) for a in arguments if a.causality == "output"]
    left = outputs[0] if len(outputs) == 1 else tree.Several(tuple(outputs), at)
    call = tree.Call(named(function.name), (), given, at)
    section = tree.Section(False, False, (tree.Equality(left, call, at, at + len(function.name)),))
    body = tree.Body((), (), (), (), (section,), None, None)
    return dataclasses.replace(
        function, word="model", read_body=lambda: body, short=None, extends_itself=False
    )
