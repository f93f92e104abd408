"""CasADi functions as functions of C, straight code; what depends on the tuners only is computed
once for each member, before its run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca

from estimica.compiled.cuda.operations import literal, operation


@dataclass
class _Number:
    """A number of the program: its name, and whether it is a run constant."""

    text: str
    fixed: bool  # depends on the tuners only, or is a literal
    literal: bool = False


class RunConstants:
    """What functions need that depends on the tuners only: `c[...]`, the same for all of them."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._names: dict[str, str] = {}
        self._places: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._places)

    def name(self, text: str) -> str:
        """The name of an expression of tuners and earlier names; the same text has one name."""
        if text not in self._names:
            self._names[text] = f"f{len(self._lines)}"
            self._lines.append(f"const double {self._names[text]} = {text};")
        return self._names[text]

    def saved(self, name: str) -> str:
        """How the others read it."""
        return f"c[{self._places.setdefault(name, len(self._places))}]"

    def text(self) -> str:
        """The function that computes them."""
        stores = [f"c[{place}] = {name};" for name, place in self._places.items()]
        return written("run_constants", "const double *theta, double *c", [*self._lines, *stores])


def written(name: str, parameters: str, lines: Sequence[str], result: str = "void") -> str:
    """A function of C from its statements."""
    body = "".join(f"  {line}\n" for line in lines)
    return f"MODEL {result} {name}({parameters})\n{{\n{body}}}\n"


def function_text(
    function: ca.Function,
    parameters: str,
    arguments: Sequence[Callable[[int], str]],
    results: Sequence[Callable[[int], str]],
    constants: RunConstants | None,
) -> str:
    """A function of C: how its arguments are read and its results written, element by element.

    Where there are `constants`, the last argument of the function is the vector of tuners.
    """
    tuners = len(arguments) - 1 if constants is not None else -1
    work: dict[int, _Number] = {}
    lines: list[str] = []

    def read(number: _Number) -> str:
        if number.literal or not number.fixed or constants is None:
            return number.text
        return constants.saved(number.text)

    for k in range(function.n_instructions()):
        op, out = function.instruction_id(k), function.instruction_output(k)
        given = function.instruction_input(k)
        if op == ca.OP_CONST:
            work[out[0]] = _Number(literal(function.instruction_constant(k)), True, True)
        elif op == ca.OP_INPUT:
            text, fixed = arguments[given[0]](given[1]), given[0] == tuners
            name = constants.name(text) if fixed and constants is not None else text
            work[out[0]] = _Number(name, fixed)
        elif op == ca.OP_OUTPUT:
            lines.append(f"{results[out[0]](out[1])} = {read(work[given[0]])};")
        elif constants is not None and all(work[a].fixed for a in given):
            text = operation(op, [work[a].text for a in given])
            work[out[0]] = _Number(constants.name(text), True)
        else:
            text = operation(op, [read(work[a]) for a in given])
            lines.append(f"const double v{k} = {text};")
            work[out[0]] = _Number(f"v{k}", False)
    return written(function.name(), parameters, lines)


def calls(function: ca.Function) -> bool:
    """Whether it calls functions that are kept as such."""
    return any(function.instruction_id(k) == ca.OP_CALL for k in range(function.n_instructions()))
