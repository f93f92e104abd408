"""The program of a response: its model's functions between sizes, settings and a method's loop."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from estimica.base.arrays import Vector
from estimica.base.errors import SimulationError
from estimica.compiled.cuda.equations import TunedEquations, tuned_equations, why_not
from estimica.compiled.cuda.model_text import (
    CallsNotWritten,
    ModelText,
    explicit_text,
    stiff_text,
)
from estimica.compiled.cuda.operations import literal
from estimica.simulate.engine import arrivals, status, steps
from estimica.simulate.engine.methods import dormand_prince, rosenbrock, step_matrix
from estimica.simulate.engine.options import IMPLICIT_EULER, Options
from estimica.simulate.ensemble.cuda.program import Program
from estimica.simulate.ensemble.cuda.records import count_of_sums, records_text
from estimica.simulate.response import Response

#: numbers of states and sensitivities up to which loops are unrolled, so that all of them stand in
#: registers, of which a thread has room for 127 numbers (measured: bench/gpu)
UNROLLED, UNROLLED_STAGES = 24, 16
#: ... and beyond which sensitivities are done in groups of so many (measured: bench/gpu), as long
#: as their slopes have no more operations than this: they are written out at eight places, and
#: twice as many take NVRTC most of a minute
GROUPED, IN_GROUPS = 8, 500
#: sums that a thread keeps; where the normal equations have more, it writes down the rows of
#: derivatives, whose products are taken afterwards (chosen)
MOST_SUMS = 96
#: operations of a model's function up to which it is written out at each of its eight places
INLINED = 400
#: beyond these a thread works in memory alone and compiling takes most of a minute (chosen)
MOST_NUMBERS, MOST_OPERATIONS = 512, 6_000
#: threads of a block: few, since it lasts as long as its slowest member (measured: bench/gpu)
BLOCK = 64

_PARAMETERS = (
    "int count, int some, const int *members, const double *thetas, const double *starts, "
    "const double *values, const double *slopes, const double *times, int n_pieces, int n_times, "
    "const double *measured, long long stride, int picked, const int *picks, "
    "const double *weight, long long apart, double *square, "
    "double *gradient, double *information, int *status, int *place, double *stopped"
)
_MODES = """
#if N_CHECKS
#define CHECKED(arrival) \\
  inputs(&x, q.piece, arrival, u); \\
  q.where = broken_check(arrival, w, c, u); \\
  if (q.where >= 0) { q.t = arrival; q.result = CHECK_VIOLATED; break; }
#else
#define CHECKED(arrival)
#endif
#define FINISHED \\
  STORE; \\
  status[member] = q.result; \\
  place[member] = q.where; \\
  stopped[member] = q.t
#define SET (size_t)(picked ? picks[member] : member)
#define MEASURED(sample) (measured + SET * stride + (size_t)(sample) * NY)
#define WEIGHT(sample) (weight + SET * apart + (size_t)(sample) * NY)
#define OUTPUTS(sample) (square + ((size_t)member * n_times + (sample)) * NY)
#define DERIVATIVES(sample) (gradient + ((size_t)member * n_times + (sample)) * NY * M)
#define ROW(sample) (square + ((size_t)member * NY * n_times + (sample)) * (M + 1))
#define APART ((size_t)n_times * (M + 1))
#define RESULTS
#define STORE
#if MODE == 1
#define RECORD write_out(y, OUTPUTS(q.sample), DERIVATIVES(q.sample))
#define WRITE_STATES(sample) write_outputs(y, OUTPUTS(sample), DERIVATIVES(sample))
#define WRITE_GROUP(n, sample) write_derivatives##n(y, DERIVATIVES(sample))
#elif MODE == 2
#define RECORD write_rows(y, MEASURED(q.sample), WEIGHT(q.sample), ROW(q.sample), APART)
#define WRITE_STATES(sample) \\
  write_residuals(y, MEASURED(sample), WEIGHT(sample), ROW(sample), APART)
#define WRITE_GROUP(n, sample) write_row##n(y, WEIGHT(sample), ROW(sample), APART)
#else
#undef RESULTS
#undef STORE
#define RESULTS double sums[AT_LEAST_ONE(NSUMS)]; EACH(i, NSUMS) sums[i] = 0.0
#define RECORD record(y, MEASURED(q.sample), WEIGHT(q.sample), sums)
#define STORE store(sums, square + (size_t)member * NY, gradient + (size_t)member * NY * M, \\
                    information + (size_t)member * NY * M * M)
#endif
"""


def refusal(response: object) -> str:
    """Why a response has no program, in words; empty where it has one."""
    if not isinstance(response, Response):
        return "only models that are compiled here have a program for a GPU"
    c = response.configuration
    reason = why_not(c.tuning.hybrid)
    if reason:
        return reason
    if c.initialiser.implicit:
        return "the start of the model is the solution of equations"
    if response.options.method == IMPLICIT_EULER:
        return "implicit Euler has no program for a GPU"
    return ""


#: programs live as long as their responses
_known: WeakKeyDictionary[Response, Program | str] = WeakKeyDictionary()


def program_of(response: Response) -> Program | str:
    """The program of a response, or why there is none.

    A limit on the clock (max_seconds) does not hold there; max_steps does.
    """
    if response not in _known:
        _known[response] = _program_of(response)
    return _known[response]


def _program_of(response: Response) -> Program | str:
    reason = refusal(response)
    if reason:
        return reason
    c, pieces, method = response.configuration, response.pieces, response.options.method
    equations = tuned_equations(c.tuning, c.outputs, response.values)
    sloped = bool(np.any(pieces.slopes))
    explicit, stiff, grouped = "", "", False
    try:
        if method == "explicit" or (method == "auto" and not _is_stiff(response)):
            text = explicit_text(equations, UNROLLED, GROUPED, IN_GROUPS)
            reason, grouped = _too_large(text), bool(text.groups)
            explicit = _assembled(equations, text, response.options, sloped, method == "auto")
        if method != "explicit":
            text = stiff_text(equations, sloped)
            reason = reason or _too_large(text)
            stiff = _assembled(equations, text, response.options, sloped, None)
    except CallsNotWritten as call:
        return f"the model's {call} calls functions that have no text for a GPU"
    if reason:
        return reason
    arrays = (pieces.starts, pieces.values, pieces.slopes, response.times)
    starts, values, slopes, times = (np.ascontiguousarray(a, np.float64) for a in arrays)
    m, ny = len(c.tuning.wrt), len(c.outputs)
    rows = count_of_sums(ny, text.jacobian) > MOST_SUMS or grouped
    return Program(explicit, stiff, m, ny, BLOCK, rows, starts, values, slopes, times)


def _is_stiff(response: Response) -> bool:
    """Whether the run at the response's own tuners is mostly done by the stiff method."""
    try:
        cost = response.at().statistics
    except SimulationError:
        return False
    return 2 * cost.stiff_steps > cost.steps


def _too_large(text: ModelText) -> str:
    if text.entries.size > MOST_NUMBERS:
        return (
            f"the model has {text.entries.size} states and sensitivities; a thread of a GPU has "
            f"room for {MOST_NUMBERS}"
        )
    if text.operations > MOST_OPERATIONS:
        return (
            f"the model has functions of {text.operations} operations; more than "
            f"{MOST_OPERATIONS} are not compiled for a GPU"
        )
    return ""


def _assembled(
    equations: TunedEquations, text: ModelText, options: Options, sloped: bool, watched: bool | None
) -> str:
    """The whole text; `watched`: whether the explicit method looks for stiffness, None: the other
    method."""
    m, ny = int(equations.theta.shape[0]), int(equations.y.shape[0])
    stiff = watched is None
    parts = [
        _sizes(equations, text, sloped, watched),
        _settings(options),
        _source("frame", 0),
        _table("ATOL", _tolerances(text, options)),
        _stiff_tables() if stiff else _pair(),
        text.text,
        records_text(ny, m, text.jacobian, text.tuners_of_groups),
        _source("frame", 1),
        _worst(text, options),
        _MODES,
        *([] if stiff else [_source("between", 0)]),
        _source("rosenbrock" if stiff else "grouped" if text.groups else "explicit", 0),
    ]
    return "\n".join(parts)


def _source(name: str, part: int) -> str:
    """A file of C, or the part of it before or after the functions of the model."""
    text = (files("estimica.simulate.ensemble.cuda") / "source" / f"{name}.cu").read_text("utf-8")
    return text.split("/* MODEL */\n")[part]


def _define(**constants: float | int | str) -> str:
    lines = []
    for name, value in constants.items():
        written = literal(value) if isinstance(value, float) else value
        lines.append(f"#define {name} {written}\n")
    return "".join(lines)


def _sizes(e: TunedEquations, text: ModelText, sloped: bool, watched: bool | None) -> str:
    entries = text.entries
    stiff = watched is None
    unroll = entries.size <= (UNROLLED_STAGES if stiff else UNROLLED)
    full, not_at_all = '_Pragma("unroll")', '_Pragma("unroll 1")'
    return _define(
        N=entries.size, NX=entries.nx, NU=int(e.u.shape[0]), NY=int(e.y.shape[0]), M=entries.m,
        NC=text.n_constants, NJ=len(text.jacobian), N_CHECKS=text.n_checks, SLOPED=int(sloped),
        WATCHED=int(bool(watched)), ROWS=float(max(1, entries.nx)), BLOCK=BLOCK,
        UNROLL=full if entries.size <= UNROLLED or text.groups else not_at_all,
        STAGE_LOOP=full if unroll else not_at_all,
        INLINING="__forceinline__" if text.operations <= INLINED else "__noinline__",
        RUN_PARAMETERS=_PARAMETERS,
        BOUNDS=BLOCK,
        RUNNING=-2,
        COLLAPSED="NEEDS_STIFF" if watched else "STEP_TOO_SMALL",
        **{n: getattr(status, n) for n in _STATUS},
    ) + "#define AT_LEAST_ONE(n) ((n) > 0 ? (n) : 1)\n"  # fmt: skip


_STATUS = (
    "DONE", "STEP_TOO_SMALL", "TOO_MANY_STEPS", "NOT_FINITE_START", "CHECK_VIOLATED",
    "NOT_FINITE_OUTPUT", "NEEDS_STIFF",
)  # fmt: skip


def _settings(options: Options) -> str:
    """Tolerances, limits and the numbers of the step control, as the scalar engine has them."""
    return _define(
        RTOL=float(options.rtol), MAX_STEP=float(min(options.max_step, arrivals.NEVER)),
        FIRST_STEP=float(options.first_step), MAX_STEPS=int(options.max_steps),
        SLACK=10.0 * float(np.max(options.atol)), SAME_ROUNDINGS=arrivals.SAME_ROUNDINGS,
        SAME_PART=arrivals.SAME_PART, CAUTIOUS=steps.CAUTIOUS, SAFETY=steps.SAFETY,
        BETA=steps.BETA, SHRINK=steps.SHRINK, GROW=steps.GROW, EXPONENT=steps.EXPONENT,
        LEAST_ERROR=steps.LEAST_ERROR, STIFF_ERROR=steps.STIFF_ERROR,
        PROBED_GROWTH=steps.PROBED_GROWTH,
    )  # fmt: skip


_PAIR = (
    "C2", "C3", "C4", "C5", "A21", "A31", "A32", "A41", "A42", "A43", "A51", "A52", "A53", "A54",
    "A61", "A62", "A63", "A64", "A65", "B1", "B3", "B4", "B5", "B6", "E1", "E3", "E4", "E5", "E6",
    "E7", "D1", "D3", "D4", "D5", "D6", "D7",
)  # fmt: skip


def _pair() -> str:
    """The coefficients of the explicit method."""
    return _define(
        **{n: float(getattr(dormand_prince, n)) for n in _PAIR},
        PROBE=dormand_prince.PROBE, SLOPE3=dormand_prince._SLOPE3,
        SLOPE4=dormand_prince._SLOPE4, SLOPE5=dormand_prince._SLOPE5,
        MOST_DEFECT=dormand_prince._MOST_DEFECT, TORN=dormand_prince._TORN,
    )  # fmt: skip


def _stiff_tables() -> str:
    """The coefficients of the stiff method."""
    # the explicit method's alone looks for stiffness
    sizes = _define(TORN=dormand_prince._TORN, GAMMA=step_matrix.GAMMA, STAGES=rosenbrock.STAGES)
    names = ("A", "C", "ALPHA", "GAMMA_SUM", "DENSE")
    return sizes + "".join(_table(n, getattr(rosenbrock, n)) for n in names)


def _tolerances(text: ModelText, options: Options) -> Vector:
    """Of states and of sensitivities, whose is divided by the tuner's scale."""
    entries = text.entries
    atol = np.broadcast_to(np.asarray(options.atol, float), entries.nx)
    scales = np.asarray(options.tuner_scales if options.tuner_scales else 1.0)
    scales = np.broadcast_to(np.maximum(np.abs(scales), 1e-12), entries.m)
    return np.array([*atol, *(atol[i] / scales[j] for i, j in entries.living)] or [1.0])


def _row(values: Vector) -> str:
    return "{" + ", ".join(literal(float(v)) for v in values) + "}"


def _table(name: str, values: npt.NDArray[np.float64]) -> str:
    shape = "".join(f"[{n}]" for n in values.shape)
    rows = ", ".join(_row(r) for r in values) if values.ndim > 1 else ""
    return f"TABLE double {name}{shape} = {'{' + rows + '}' if rows else _row(values)};\n"


def _worst(text: ModelText, options: Options) -> str:
    """The sum of squares of the states, or of the worst tuner; and how much is tested. Where
    sensitivities are done in groups, one function each."""
    tested = text.entries.columns if options.sensitivities_in_error_test else ()
    size = f"#define TESTED {'N' if tested else 'NX'}\n"
    if not text.groups:
        return size + _worst_function("worst_of(const double *e)", "sum_of(e, 0, NX)", tested)
    parts = [size]
    for number, (begin, end) in enumerate(text.groups):
        inside = [(j, a - begin, b - begin) for j, a, b in tested if begin <= a < end]
        name = f"worst_of_group{number}(const double *e, double before)"
        parts.append(_worst_function(name, "before", inside))
    nx = text.entries.nx
    listed = " ".join(
        f"DO({number}, {begin - nx}, {end - begin})"
        for number, (begin, end) in enumerate(text.groups)
    )
    return "".join([*parts, f"#define ALL_GROUPS(DO) {listed}\n"])


def _worst_function(name: str, first: str, columns: Sequence[tuple[int, int, int]]) -> str:
    lines = [f"double worst = {first}, of_tuner = worst;"]
    for _, begin, end in columns:
        lines.append(f"of_tuner = sum_of(e, {begin}, {end});")
        lines.append("if (!(of_tuner <= worst)) worst = of_tuner;")
    body = "".join(f"  {line}\n" for line in [*lines, "return worst;"])
    return f"HELPER double {name}\n{{\n{body}}}\n"
