"""Vigna's xorshift generators, bit for bit as the Modelica Standard Library computes them.

A state is a row of signed 32-bit Integers, as Modelica holds it; every two are one 64-bit word,
the lower half first. Each function takes such a state as numbers and returns the next state with
the random number, which lies between 0 and 1, behind it.
"""

from __future__ import annotations

from collections.abc import Sequence

_WORD = (1 << 64) - 1
_HALF_WORD = (1 << 32) - 1


def xorshift64star(state: Sequence[float]) -> list[float]:
    """Two Integers of state; the number that is scrambled is the next state, too."""
    (x,) = _words(state[:2])
    x ^= x >> 12
    x ^= (x << 25) & _WORD
    x ^= x >> 27
    x = (x * 2685821657736338717) & _WORD
    return [*_integers([x]), _between_0_and_1(x)]


def xorshift128plus(state: Sequence[float]) -> list[float]:
    """Four Integers of state."""
    first, second = _words(state[:4])
    first ^= (first << 23) & _WORD
    last = ((first ^ second ^ (first >> 17) ^ (second >> 26)) + second) & _WORD
    return [*_integers([second, last]), _between_0_and_1(last)]


def xorshift1024star(state: Sequence[float]) -> list[float]:
    """32 Integers of state and the place of the word in turn."""
    words = _words(state[:32])
    place = int(state[32]) & 15
    before = words[place]
    place = (place + 1) & 15
    x = words[place]
    x ^= (x << 31) & _WORD
    x ^= x >> 11
    x ^= before ^ (before >> 30)
    words[place] = x
    number = _between_0_and_1((x * 1181783497276652981) & _WORD)
    return [*_integers(words), float(place), number]


def _words(integers: Sequence[float]) -> list[int]:
    halves = [int(i) & _HALF_WORD for i in integers]
    return [low | (high << 32) for low, high in zip(halves[::2], halves[1::2], strict=True)]


def _integers(words: Sequence[int]) -> list[float]:
    halves = [half for w in words for half in (w & _HALF_WORD, w >> 32)]
    return [float(h - (1 << 32) if h >> 31 else h) for h in halves]


def _between_0_and_1(word: int) -> float:
    """As a signed number, so that neither 0 nor 1 can come out (Doornik, 2007)."""
    signed = word - (1 << 64) if word >> 63 else word
    return float(signed) * 2.0**-64 + 0.5
