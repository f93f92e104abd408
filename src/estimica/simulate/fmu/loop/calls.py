"""What a run asks of an FMU: values, modes, derivatives; every refusal is noted in iw."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimica.compiled.llvm.deferred import ir, types
from estimica.simulate.engine.units import engine_function, intrinsic, reals_at
from estimica.simulate.fmu.loop import layout as at

Vector = Any
#: bytes of the memory for flags, a few dozen, of which a page is kept; integers and booleans stand
#: behind. The workspace has as many
SMALL = 4096


@engine_function
def checked_status(iw: Vector, function: int, k: int, status: int) -> int:
    """0 for OK and warnings, DISCARDED, or FAILED."""
    if status <= 1 and status >= 0:
        return at.DONE
    iw[at.R_FUNCTION], iw[at.R_STATUS], iw[at.R_INSTANCE] = function, status, k
    return at.DISCARDED if status == 2 else at.FAILED


@engine_function
def instance(iw: Vector, k: int) -> int:
    """The pointer to instance k."""
    return iw[iw[at.I_INSTANCE] + k]


@engine_function
def call_instance(iw: Vector, function: int, k: int, a: int, b: int, d: int, e: int) -> int:
    """Calls a function of instance k with up to four arguments."""
    status = call_fmi(iw[function], instance(iw, k), a, b, d, e, 0, 0, 0, 0)
    return checked_status(iw, function, k, status)


@engine_function
def real(iw: Vector, offset: int) -> int:
    """The address of rw[offset]."""
    return iw[at.BASE] + 8 * offset


@engine_function
def set_group(iw: Vector, rw: Vector, k: int, group: int, values: int) -> int:
    """Gives instance k the values rw[values ...] of a group: reals, integers, booleans."""
    n = iw[group + 1]
    if n:
        found = call_instance(iw, at.SET_REAL, k, iw[group], n, real(iw, values), n)
        if found:
            return found
    place = iw[at.MEMORY] + SMALL
    values += n
    n = iw[group + 3]
    if n:
        for i in range(n):
            store_int(place + 4 * i, int(np.floor(rw[values + i] + 0.5)))
        found = call_instance(iw, at.SET_INT, k, iw[group + 2], n, place, n)
        if found:
            return found
    values += n
    n = iw[group + 5]
    if n:
        for i in range(n):
            truth = 1 if rw[values + i] > 0.5 else 0
            if iw[at.FMI] == 2:
                store_int(place + 4 * i, truth)
            else:
                store_byte(place + i, truth)
        return call_instance(iw, at.SET_BOOL, k, iw[group + 4], n, place, n)
    return at.DONE


@engine_function
def get_group(iw: Vector, rw: Vector, k: int, group: int, values: int) -> int:
    """Reads a group of instance k to rw[values ...]."""
    n = iw[group + 1]
    if n:
        found = call_instance(iw, at.GET_REAL, k, iw[group], n, real(iw, values), n)
        if found:
            return found
    place = iw[at.MEMORY] + SMALL
    values += n
    n = iw[group + 3]
    if n:
        found = call_instance(iw, at.GET_INT, k, iw[group + 2], n, place, n)
        if found:
            return found
        for i in range(n):
            rw[values + i] = float(load_int(place + 4 * i))
    values += n
    n = iw[group + 5]
    if n:
        found = call_instance(iw, at.GET_BOOL, k, iw[group + 4], n, place, n)
        if found:
            return found
        for i in range(n):
            truth = load_int(place + 4 * i) if iw[at.FMI] == 2 else load_byte(place + i)
            rw[values + i] = 1.0 if truth else 0.0
    return at.DONE


@engine_function
def read_end(iw: Vector, rw: Vector) -> None:
    """YHIGH := the outputs where an FMU has ended a run; NaN where it does not tell them."""
    if get_group(iw, rw, 0, at.G_OUTPUTS, iw[at.O_YHIGH]):
        for i in range(iw[at.NY]):
            rw[iw[at.O_YHIGH] + i] = np.nan


@engine_function
def set_inputs(iw: Vector, rw: Vector, k: int, t: float) -> int:
    """Gives instance k the inputs at a time of the current piece."""
    nu = iw[at.NU]
    if nu == 0:
        return at.DONE
    piece = iw[at.PIECE]
    since = t - reals_at(iw[at.STARTS])[piece]
    values, slopes = reals_at(iw[at.VALUES]), reals_at(iw[at.SLOPES])
    u = iw[at.O_U]
    for i in range(nu):
        rw[u + i] = values[piece * nu + i] + slopes[piece * nu + i] * since
    return set_group(iw, rw, k, at.G_INPUTS, u)


@engine_function
def set_point(iw: Vector, rw: Vector, k: int, t: float, x: int) -> int:
    """Brings instance k to time t and the states rw[x ...]."""
    status = call_fmi_time(iw[at.SET_TIME], instance(iw, k), t)
    found = checked_status(iw, at.SET_TIME, k, status)
    if found == at.DONE and iw[at.SLOPED]:
        found = set_inputs(iw, rw, k, t)
    if found == at.DONE and iw[at.N]:
        found = call_instance(iw, at.SET_X, k, real(iw, x), iw[at.N], 0, 0)
    return found


@engine_function
def rates(iw: Vector, rw: Vector, k: int, t: float, x: int, out: int) -> int:
    """rw[out ...] := the derivatives of instance k at (t, rw[x ...])."""
    found = set_point(iw, rw, k, t, x)
    if found == at.DONE and iw[at.N]:
        iw[at.RATES] += 1
        found = call_instance(iw, at.GET_RATES, k, real(iw, out), iw[at.N], 0, 0)
    return found


@engine_function
def perturbed_states(iw: Vector, rw: Vector, w: int, j: int, sign: float) -> int:
    """The states of the model whose tuner j is a little larger or smaller; their place."""
    n, x, amount = iw[at.N], iw[at.O_X], sign * rw[iw[at.O_DELTA] + j]
    column = w + n * (1 + j)
    for i in range(n):
        rw[x + i] = rw[w + i] + amount * rw[column + i]
    return x


@engine_function
def direction(iw: Vector, rw: Vector, w: int, j: int, unknowns: int, n: int, out: int) -> int:
    """rw[out ...] := the FMU's derivative of `unknowns` along tuner j; the model is in place."""
    nx, seed, known = iw[at.N], iw[at.O_SEED], iw[iw[at.I_N_KNOWN] + j]
    for i in range(nx):
        rw[seed + i] = rw[w + nx * (1 + j) + i]
    if known > nx:
        rw[seed + nx] = 1.0
    references = iw[iw[at.I_KNOWN] + j]
    if iw[at.FMI] == 2:
        status = call_fmi(iw[at.DIRECTIONAL], instance(iw, 0), unknowns, n, references, known,
                        real(iw, seed), real(iw, out), 0, 0)  # fmt: skip
    else:
        status = call_fmi(iw[at.DIRECTIONAL], instance(iw, 0), unknowns, n, references, known,
                        real(iw, seed), known, real(iw, out), n)  # fmt: skip
    return checked_status(iw, at.DIRECTIONAL, 0, status)


@engine_function
def slope_of_column(iw: Vector, rw: Vector, t: float, w: int, j: int, out: int) -> int:
    """rw[out ...] := the derivative of sensitivity column j; the model is at (t, x)."""
    if iw[iw[at.I_WAY] + j] == at.BY_DIRECTION:
        return direction(iw, rw, w, j, iw[at.RATE_REFERENCES], iw[at.N], out)
    found = rates(iw, rw, 1 + 2 * j, t, perturbed_states(iw, rw, w, j, 1.0), iw[at.O_HIGH])
    if found == at.DONE:
        found = rates(iw, rw, 2 + 2 * j, t, perturbed_states(iw, rw, w, j, -1.0), iw[at.O_LOW])
    half = 0.5 / rw[iw[at.O_DELTA] + j]
    for i in range(iw[at.N]):
        rw[out + i] = (rw[iw[at.O_HIGH] + i] - rw[iw[at.O_LOW] + i]) * half
    return found


@engine_function
def slope(iw: Vector, rw: Vector, t: float, w: int, out: int) -> int:
    """rw[out ...] := the derivative of [x; S] at rw[w ...]."""
    found = rates(iw, rw, 0, t, w, out)
    for j in range(iw[at.M]):
        if found == at.DONE:
            found = slope_of_column(iw, rw, t, w, j, out + iw[at.N] * (1 + j))
    return found


@engine_function
def initialise(iw: Vector, rw: Vector, k: int) -> int:
    """Takes instance k from wherever it is to the end of its initialisation."""
    setting, used = iw[at.O_SETTING], iw[at.I_USED] + k
    begin, found = rw[setting + at.BEGIN], at.DONE
    if iw[used]:
        found = call_instance(iw, at.RESET, k, 0, 0, 0, 0)
    iw[used] = 1
    if found == at.DONE:
        values = iw[at.O_PARAMETER] + k * iw[at.NP]
        found = set_group(iw, rw, k, at.G_PARAMETERS, values)
    tolerance = rw[setting + at.TOLERANCE]
    first = at.SETUP if iw[at.FMI] == 2 else at.ENTER_INIT
    if found == at.DONE:  # no end is told: the search for an event may look a little beyond it
        status = call_fmi_setup(iw[first], instance(iw, k), 1, tolerance, begin, 0, 0.0)
        found = checked_status(iw, first, k, status)
    if found == at.DONE and iw[at.FMI] == 2:
        found = call_instance(iw, at.ENTER_INIT, k, 0, 0, 0, 0)
    if found == at.DONE:
        found = set_inputs(iw, rw, k, begin)
    if found == at.DONE:
        found = call_instance(iw, at.EXIT_INIT, k, 0, 0, 0, 0)
    return found


# ----------------------------------------------------------------
# Calls from compiled code to the functions of an FMU, by their address.
#
# C callers clean up their own arguments on every platform that FMUs are built for, so that a call
# may hand over more arguments than the function takes: one shape of call serves many functions.


def _called(builder: Any, kinds: str, values: Any) -> Any:
    """A call with arguments of these kinds: w, a word (a whole number or an address), and r, a
    real; its status comes back."""
    known = {"w": ir.IntType(64), "r": ir.DoubleType()}
    kind = ir.FunctionType(ir.IntType(32), [known[k] for k in kinds])
    pointer = builder.inttoptr(values[0], kind.as_pointer())
    return builder.sext(builder.call(pointer, list(values[1:])), known["w"])


@intrinsic
def call_fmi(
    typing: Any, f: Any, c: Any, a: Any, b: Any, d: Any, e: Any, g: Any, h: Any, i: Any, k: Any
) -> Any:
    """status = f(c, a, b, ...), all of them whole numbers or addresses."""
    signature = types.int64(*([types.int64] * 10))

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _called(builder, 9 * "w", values)

    return signature, generate


@intrinsic
def call_fmi_time(typing: Any, f: Any, c: Any, t: Any) -> Any:
    """status = f(c, t) with a real t."""
    signature = types.int64(types.int64, types.int64, types.float64)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _called(builder, "wr", values)

    return signature, generate


@intrinsic
def call_fmi_setup(
    typing: Any, f: Any, c: Any, given: Any, tolerance: Any, start: Any, ends: Any, stop: Any
) -> Any:
    """status = f(c, given, tolerance, start, ends, stop): how an experiment begins."""
    word, real = types.int64, types.float64
    signature = word(word, word, word, real, real, word, real)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _called(builder, "wwrrwr", values)

    return signature, generate


@intrinsic
def call_fmi_step(
    typing: Any, f: Any, c: Any, t: Any, h: Any, a: Any, b: Any, d: Any, e: Any, g: Any
) -> Any:
    """status = f(c, t, h, a, ...): one communication step."""
    word, real = types.int64, types.float64
    signature = word(word, word, real, real, word, word, word, word, word)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _called(builder, "wrrwwwww", values)

    return signature, generate


def _memory(bits: int) -> tuple[Any, Any]:
    """(load, store) of whole numbers of so many bits at an address."""

    @intrinsic
    def load(typing: Any, place: Any) -> Any:
        signature = types.int64(types.int64)

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            pointer = builder.inttoptr(values[0], ir.IntType(bits).as_pointer())
            return builder.sext(builder.load(pointer), ir.IntType(64))

        return signature, generate

    @intrinsic
    def store(typing: Any, place: Any, value: Any) -> Any:
        signature = types.void(types.int64, types.int64)

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            pointer = builder.inttoptr(values[0], ir.IntType(bits).as_pointer())
            builder.store(builder.trunc(values[1], ir.IntType(bits)), pointer)
            return context.get_dummy_value()

        return signature, generate

    return load, store


load_byte, store_byte = _memory(8)
load_int, store_int = _memory(32)
