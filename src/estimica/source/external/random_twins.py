"""Twins of the functions of ModelicaRandom."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from estimica.flat import expression as ex
from estimica.source.evaluate.values import Value, ValueMismatch, Written, is_array
from estimica.source.external.host import Host, Twin, constants
from estimica.source.external.random_numbers import (
    xorshift64star,
    xorshift128plus,
    xorshift1024star,
)

#: what stands for a seed from clock and process: a run must give the same numbers again
AUTOMATIC_SEED = 19700101


def _generator(compute: Callable[[Sequence[float]], list[float]], size: int) -> Twin:
    """state in, state out, number."""

    def twin(host: Host, a: Sequence[Value]) -> Written:
        state = a[0]
        if not is_array(state) or len(state) != size:
            raise ValueMismatch(f"the state of this random generator has {size} Integers")
        why = "it is the state of a random generator"
        *after, number = compute([host.number(x, why) for x in state])
        return Written({1: constants(after), 2: ex.const(number)})

    return twin


def _automatic_seed(host: Host, a: Sequence[Value]) -> Value:
    host.notes.append(
        f"an automatic seed of random numbers is always {AUTOMATIC_SEED} here, so that runs repeat"
    )
    return ex.const(AUTOMATIC_SEED)


def _real_as_integers(host: Host, a: Sequence[Value]) -> Written:
    """The two halves of a double, the lower one first."""
    number = host.number(a[0], "its bits make a seed")
    return Written({1: constants(struct.unpack("<ii", struct.pack("<d", number)))})


def _impure(host: Host, a: Sequence[Value]) -> Value:
    host.refuse(
        "an impure random number, which depends on all calls before it,",
        "use a noise block or a generator whose state is a variable of the model",
    )


RANDOM_TWINS: dict[str, Twin] = {
    "ModelicaRandom_xorshift64star": _generator(xorshift64star, 2),
    "ModelicaRandom_xorshift128plus": _generator(xorshift128plus, 4),
    "ModelicaRandom_xorshift1024star": _generator(xorshift1024star, 33),
    "ModelicaRandom_automaticGlobalSeed": _automatic_seed,
    "ModelicaRandom_convertRealToIntegers": _real_as_integers,
    "ModelicaRandom_setInternalState_xorshift1024star": _impure,
    "ModelicaRandom_impureRandom_xorshift1024star": _impure,
}
