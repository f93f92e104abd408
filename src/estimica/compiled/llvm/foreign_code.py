"""The algorithms of `flat/foreign.py` as LLVM assembly."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm

from estimica.base.code.numeric import NumericTwin, numeric_twin
from estimica.flat.foreign import is_python


@dataclass(frozen=True, slots=True)
class ForeignCode:
    """`void name(ptr arguments, ptr results)`, whole numbers as doubles."""

    name: str
    definition: str
    declarations: tuple[str, ...] = ()


#: two Integers of 32 bits are one word, the lower half first
_WORD = """define internal i64 @random_word(ptr %p) {
  %low.number = load double, ptr %p
  %second = getelementptr double, ptr %p, i64 1
  %high.number = load double, ptr %second
  %low.signed = fptosi double %low.number to i64
  %high.signed = fptosi double %high.number to i64
  %low = and i64 %low.signed, 4294967295
  %high = shl i64 %high.signed, 32
  %word = or i64 %low, %high
  ret i64 %word
}"""
_STORE_WORD = """define internal void @random_store_word(ptr %p, i64 %word) {
  %low = trunc i64 %word to i32
  %shifted = lshr i64 %word, 32
  %high = trunc i64 %shifted to i32
  %low.number = sitofp i32 %low to double
  %high.number = sitofp i32 %high to double
  %second = getelementptr double, ptr %p, i64 1
  store double %low.number, ptr %p
  store double %high.number, ptr %second
  ret void
}"""
#: 0x3BF0000000000000 is 2^-64
_UNIT = """define internal double @random_unit(i64 %word) {
  %number = sitofp i64 %word to double
  %part = fmul double %number, 0x3BF0000000000000
  %unit = fadd double %part, 0.5
  ret double %unit
}"""
_COMMON = (_WORD, _STORE_WORD, _UNIT)

_XORSHIFT64STAR = """define internal void @xorshift64star(ptr %given, ptr %results) {
  %x0 = call i64 @random_word(ptr %given)
  %a = lshr i64 %x0, 12
  %x1 = xor i64 %x0, %a
  %b = shl i64 %x1, 25
  %x2 = xor i64 %x1, %b
  %c = lshr i64 %x2, 27
  %x3 = xor i64 %x2, %c
  %x = mul i64 %x3, 2685821657736338717
  call void @random_store_word(ptr %results, i64 %x)
  %unit = call double @random_unit(i64 %x)
  %last = getelementptr double, ptr %results, i64 2
  store double %unit, ptr %last
  ret void
}"""

_XORSHIFT128PLUS = """define internal void @xorshift128plus(ptr %given, ptr %results) {
  %given.2 = getelementptr double, ptr %given, i64 2
  %first = call i64 @random_word(ptr %given)
  %second = call i64 @random_word(ptr %given.2)
  %a = shl i64 %first, 23
  %x0 = xor i64 %first, %a
  %b = lshr i64 %x0, 17
  %c = lshr i64 %second, 26
  %x1 = xor i64 %x0, %second
  %x2 = xor i64 %x1, %b
  %x3 = xor i64 %x2, %c
  %x = add i64 %x3, %second
  call void @random_store_word(ptr %results, i64 %second)
  %results.2 = getelementptr double, ptr %results, i64 2
  call void @random_store_word(ptr %results.2, i64 %x)
  %unit = call double @random_unit(i64 %x)
  %last = getelementptr double, ptr %results, i64 4
  store double %unit, ptr %last
  ret void
}"""

_XORSHIFT1024STAR = """define internal void @xorshift1024star(ptr %given, ptr %results) {
entry:
  br label %copy
copy:
  %k = phi i64 [0, %entry], [%next, %copy]
  %from = getelementptr double, ptr %given, i64 %k
  %to = getelementptr double, ptr %results, i64 %k
  %value = load double, ptr %from
  store double %value, ptr %to
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, 32
  br i1 %more, label %copy, label %shift
shift:
  %place.given = getelementptr double, ptr %given, i64 32
  %place.number = load double, ptr %place.given
  %place.whole = fptosi double %place.number to i64
  %place.old = and i64 %place.whole, 15
  %place.after = add i64 %place.old, 1
  %place = and i64 %place.after, 15
  %old.offset = mul i64 %place.old, 2
  %offset = mul i64 %place, 2
  %old.word = getelementptr double, ptr %given, i64 %old.offset
  %word = getelementptr double, ptr %given, i64 %offset
  %s0 = call i64 @random_word(ptr %old.word)
  %x0 = call i64 @random_word(ptr %word)
  %a = shl i64 %x0, 31
  %x1 = xor i64 %x0, %a
  %b = lshr i64 %x1, 11
  %x2 = xor i64 %x1, %b
  %c = lshr i64 %s0, 30
  %s1 = xor i64 %s0, %c
  %x = xor i64 %x2, %s1
  %target = getelementptr double, ptr %results, i64 %offset
  call void @random_store_word(ptr %target, i64 %x)
  %place.result = sitofp i64 %place to double
  %place.target = getelementptr double, ptr %results, i64 32
  store double %place.result, ptr %place.target
  %scrambled = mul i64 %x, 1181783497276652981
  %unit = call double @random_unit(i64 %scrambled)
  %last = getelementptr double, ptr %results, i64 33
  store double %unit, ptr %last
  ret void
}"""

#: the sums of the definition, with one table of sines for all lines; 0x401921FB54442D18 is 2 pi
_FOURIER = """define internal void @fourier(ptr %given, ptr %results) noinline {
entry:
  %n.number = load double, ptr %given
  %n = fptosi double %n.number to i64
  %cosines = alloca double, i64 %n
  %sines = alloca double, i64 %n
  %real = getelementptr double, ptr %given, i64 1
  %imaginary = getelementptr double, ptr %real, i64 %n
  %more.results = getelementptr double, ptr %results, i64 %n
  br label %table
table:
  %m = phi i64 [0, %entry], [%m.next, %table]
  %m.number = sitofp i64 %m to double
  %turn = fmul double %m.number, 0x401921FB54442D18
  %angle = fdiv double %turn, %n.number
  %cosine = call double @cos(double %angle)
  %sine = call double @sin(double %angle)
  %cosine.place = getelementptr double, ptr %cosines, i64 %m
  %sine.place = getelementptr double, ptr %sines, i64 %m
  store double %cosine, ptr %cosine.place
  store double %sine, ptr %sine.place
  %m.next = add i64 %m, 1
  %m.more = icmp ult i64 %m.next, %n
  br i1 %m.more, label %table, label %line
line:
  %k = phi i64 [0, %table], [%k.next, %line.end]
  br label %sum
sum:
  %j = phi i64 [0, %line], [%j.next, %sum]
  %place = phi i64 [0, %line], [%place.next, %sum]
  %a = phi double [0.0, %line], [%a.next, %sum]
  %b = phi double [0.0, %line], [%b.next, %sum]
  %x.place = getelementptr double, ptr %real, i64 %j
  %y.place = getelementptr double, ptr %imaginary, i64 %j
  %c.place = getelementptr double, ptr %cosines, i64 %place
  %s.place = getelementptr double, ptr %sines, i64 %place
  %x = load double, ptr %x.place
  %y = load double, ptr %y.place
  %c = load double, ptr %c.place
  %s = load double, ptr %s.place
  %xc = fmul double %x, %c
  %ys = fmul double %y, %s
  %yc = fmul double %y, %c
  %xs = fmul double %x, %s
  %re = fadd double %xc, %ys
  %im = fsub double %yc, %xs
  %a.next = fadd double %a, %re
  %b.next = fadd double %b, %im
  %further = add i64 %place, %k
  %beyond = icmp uge i64 %further, %n
  %back = sub i64 %further, %n
  %place.next = select i1 %beyond, i64 %back, i64 %further
  %j.next = add i64 %j, 1
  %j.more = icmp ult i64 %j.next, %n
  br i1 %j.more, label %sum, label %line.end
line.end:
  %a.place = getelementptr double, ptr %results, i64 %k
  %b.place = getelementptr double, ptr %more.results, i64 %k
  store double %a.next, ptr %a.place
  store double %b.next, ptr %b.place
  %k.next = add i64 %k, 1
  %k.more = icmp ult i64 %k.next, %n
  br i1 %k.more, label %line, label %end
end:
  ret void
}"""
_TRIGONOMETRY = ("declare double @cos(double)", "declare double @sin(double)")

#: by the names of `flat/foreign.py`
FOREIGN_CODE: Mapping[str, ForeignCode] = {
    "xorshift64star": ForeignCode("xorshift64star", _XORSHIFT64STAR, _COMMON),
    "xorshift128plus": ForeignCode("xorshift128plus", _XORSHIFT128PLUS, _COMMON),
    "xorshift1024star": ForeignCode("xorshift1024star", _XORSHIFT1024STAR, _COMMON),
    "fourier": ForeignCode("fourier", _FOURIER, _TRIGONOMETRY),
}


#: called back from machine code; they live for ever, as the code that has their addresses does
_callbacks: dict[str, Any] = {}
_Callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


def foreign_code(twin: str) -> ForeignCode:
    """The code of a twin, which is ready to be called; a function of Python is called back.

    A callback takes the lock of the interpreter by itself, which compiled loops do not hold.
    """
    if not is_python(twin):
        return FOREIGN_CODE[twin]
    name = f"python.{hashlib.sha256(twin.encode()).hexdigest()[:32]}"
    if name not in _callbacks:
        callback = _callbacks[name] = _called_back(numeric_twin(twin))
        address = ctypes.cast(callback, ctypes.c_void_p).value
        assert address is not None
        llvm.add_symbol(name, address)
    return ForeignCode(name, f"declare void @{name}(ptr, ptr)")


def _called_back(twin: NumericTwin) -> Any:
    Given, Results = ctypes.c_double * twin.given, ctypes.c_double * twin.results

    def callback(given: int, results: int) -> None:
        found = twin(Given.from_address(given)[:])
        Results.from_address(results)[:] = list(found)

    return _Callback(callback)
