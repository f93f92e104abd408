"""CasADi functions that call others, with all calls written out except those of kept functions.

Derivatives of calls are calls of small functions that CasADi makes; written out, the factors that
are zero vanish, and all directions share the one call of the table of derivatives. That table has
the values of the function as well, so that where both are called with the same arguments, one call
is enough.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from estimica.compiled.llvm.kept_function import KeptFunction, is_derived, kept_of


def expanded(function: ca.Function) -> ca.Function:
    """The same function, with no call of what CasADi has made of kept functions."""
    if not calls_of(function):
        return function
    while any(is_derived(f) for f in calls_of(function).values()):
        function = _rebuilt(function, {})
    return _rebuilt(function, _with_derivatives(function))


def written_out(expression: ca.SX) -> ca.SX:
    """An expression in which derivatives of calls that vanish have gone."""
    symbols = ca.symvar(expression)
    function = ca.Function("f", symbols, [expression])
    return expanded(function)(*symbols) if symbols and calls_of(function) else expression


def has_calls(expression: ca.SX) -> bool:
    """Whether a function is called somewhere in an expression."""
    return bool(calls_of(ca.Function("f", ca.symvar(expression), [expression])))


def calls_of(function: ca.Function) -> dict[int, ca.Function]:
    """The functions that are called, by the number of the instruction."""
    places = [
        k for k in range(function.n_instructions()) if function.instruction_id(k) == ca.OP_CALL
    ]
    if not places:
        return {}
    nodes = function.instructions_sx()
    return {k: nodes[k].which_function() for k in places}


def _with_derivatives(function: ca.Function) -> dict[int, KeptFunction]:
    """The calls whose results are among those of a table of derivatives that is called as well."""
    calls = {k: kept_of(f) for k, f in calls_of(function).items()}
    made: dict[int, int] = {}  # place of the work vector: the instruction that has filled it
    arguments: dict[int, tuple[int, ...]] = {}
    for k in range(function.n_instructions()):
        if k in calls:
            arguments[k] = tuple(made[a] for a in function.instruction_input(k))
        if function.instruction_id(k) != ca.OP_OUTPUT:
            made.update(dict.fromkeys(function.instruction_output(k), k))
    return _merged(calls, arguments)


def _merged(
    calls: dict[int, KeptFunction | None], arguments: dict[int, tuple[int, ...]]
) -> dict[int, KeptFunction]:
    present = {(kept, arguments[k]) for k, kept in calls.items() if kept is not None}
    found: dict[int, KeptFunction] = {}
    for k, kept in calls.items():
        while kept is not None and "jacobian_table" in kept.__dict__:
            table = kept.jacobian_table
            if table is None or (table[0], arguments[k]) not in present:
                break
            kept = found[k] = table[0]
    return found


def _rebuilt(function: ca.Function, instead: dict[int, KeptFunction]) -> ca.Function:
    """The function from its instructions, with calls of other functions written out once."""
    inputs = [ca.SX.sym("x", function.sparsity_in(k)) for k in range(function.n_in())]
    numbers = [ca.SX(s).nonzeros() for s in inputs]
    results = [[ca.SX(0)] * function.nnz_out(k) for k in range(function.n_out())]
    work: dict[int, ca.SX] = {}
    calls = calls_of(function)
    for k in range(function.n_instructions()):
        op, out = function.instruction_id(k), function.instruction_output(k)
        args = function.instruction_input(k)
        if op == ca.OP_INPUT:
            work[out[0]] = numbers[args[0]][args[1]]
        elif op == ca.OP_OUTPUT:
            results[out[0]][out[1]] = work[args[0]]
        elif op == ca.OP_CONST:
            work[out[0]] = ca.SX(function.instruction_constant(k))
        elif op == ca.OP_CALL:
            found = called_nonzeros(instead.get(k, calls[k]), [work[a] for a in args])
            work.update((place, v) for place, v in zip(out, found, strict=False) if place >= 0)
        elif len(args) == 1:
            work[out[0]] = ca.SX.unary(op, work[args[0]])
        else:
            work[out[0]] = ca.SX.binary(op, work[args[0]], work[args[1]])
    outputs = [
        ca.SX(function.sparsity_out(k), ca.vertcat(*values) if values else ca.SX(0, 1))
        for k, values in enumerate(results)
    ]
    return ca.Function(function.name(), inputs, outputs, {"cse": True})


def called_nonzeros(function: ca.Function, arguments: Sequence[ca.SX]) -> list[ca.SX]:
    """The nonzeros of all results, given those of all arguments."""
    given, first = [], 0
    for k in range(function.n_in()):
        n = function.nnz_in(k)
        column = ca.vertcat(*arguments[first : first + n]) if n else ca.SX(0, 1)
        given.append(ca.SX(function.sparsity_in(k), column))
        first += n
    results = function.call(given)
    return [v for r in results for v in ca.SX(r).nonzeros()]
