"""Numba's types and LLVM's, for functions that are told of them when something is compiled: what is
asked of them is imported when it is asked for first."""

from __future__ import annotations

from typing import Any


class _Deferred:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        from estimica.compiled.llvm import numba

        return getattr(getattr(numba, self._name), attribute)


types, ir = _Deferred("types"), _Deferred("ir")
