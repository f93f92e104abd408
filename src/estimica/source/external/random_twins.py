"""Twins of the functions of ModelicaRandom."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import partial

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.foreign import FOREIGN
from estimica.flat.function import FlatFunction, Foreign, flat_function, invoke
from estimica.source.evaluate.values import Value, ValueMismatch, Written, is_array, make_array
from estimica.source.external.host import Host, Twin, constants, numbers, scalar

_HIDDEN = "xorshift1024star"
_SEED = "it is the seed of random numbers"
#: what stands for a seed from clock and process: a run must give the same numbers again
AUTOMATIC_SEED = 19700101


def _generator(name: str, size: int) -> Twin:
    """state in, state out, number; a call that stays a call where only the run knows the state."""

    def twin(host: Host, a: Sequence[Value]) -> Written:
        state = a[0]
        if not is_array(state) or len(state) != size:
            raise ValueMismatch(f"the state of this random generator has {size} Integers")
        after, number = _drawn(name, [scalar(x) for x in state])
        return Written({1: make_array(after), 2: number})

    return twin


def _drawn(name: str, state: Sequence[Expression]) -> tuple[list[Expression], Expression]:
    """The next state and the number."""
    if all(e.op == "const" for e in state):
        *after, number = map(ex.const, FOREIGN[name]([e.value for e in state]))
    else:
        *after, number = invoke(_function(name, len(state)), state)
    return after, number


def _function(name: str, size: int) -> FlatFunction:
    given = tuple(f"state{k + 1}" for k in range(size))
    results = (*(f"next{k + 1}" for k in range(size)), "number")
    return flat_function(
        name, given, results, (Foreign(name, results, tuple(map(ex.name, given))),)
    )


def _automatic_seed(host: Host, a: Sequence[Value]) -> Value:
    host.notes.append(
        f"an automatic seed of random numbers is always {AUTOMATIC_SEED} here, so that runs repeat"
    )
    return ex.const(AUTOMATIC_SEED)


def _real_as_integers(host: Host, a: Sequence[Value]) -> Written:
    """The two halves of a double, the lower one first."""
    number = host.number(a[0], "its bits make a seed")
    return Written({1: constants(struct.unpack("<ii", struct.pack("<d", number)))})


def _begin(host: Host, a: Sequence[Value]) -> Written:
    """state, its size, identity."""
    state = constants(numbers(host, a[0], _SEED))
    host.instants.begin(host.number(a[2], _SEED), list(state))
    return Written({})


def _impure(host: Host, a: Sequence[Value]) -> Value:
    """identity; the generator keeps its state with the when-clause that calls it."""
    if host.instants.conditions is None and not host.place.kind.startswith("initial"):
        host.refuse(
            "an impure random number outside of when-clauses and initial sections",
            "draw it in a when-clause, or use a noise block",
        )
    identity = host.number(a[0], _SEED)
    number = host.instants.drawn(identity, partial(_drawn, _HIDDEN), host.condition())
    if number is None:
        host.refuse(
            "an impure random number before its generator has been initialized",
            "hand it the number that initializeImpureRandom returns",
        )
    return number


RANDOM_TWINS: dict[str, Twin] = {
    "ModelicaRandom_xorshift64star": _generator("xorshift64star", 2),
    "ModelicaRandom_xorshift128plus": _generator("xorshift128plus", 4),
    "ModelicaRandom_xorshift1024star": _generator("xorshift1024star", 33),
    "ModelicaRandom_automaticGlobalSeed": _automatic_seed,
    "ModelicaRandom_convertRealToIntegers": _real_as_integers,
    "ModelicaRandom_setInternalState_xorshift1024star": _begin,
    "ModelicaRandom_impureRandom_xorshift1024star": _impure,
}
