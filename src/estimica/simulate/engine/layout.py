"""Where everything stands in the engine's two arrays: `iw` (whole numbers, addresses, offsets) and
`rw` (reals). One pair serves one run at a time; compiled code finds all it needs through them.

iw[T..] is the table of argument addresses that model functions are called with, iw[RESULT..] that
of their results, iw[RHS..] their own addresses; then come sizes, switches, counters, and the
offsets (O_...) of the vectors inside rw and (I_...) of the index vectors inside iw.
"""

from __future__ import annotations

import numpy as np

from estimica.base.arrays import Indices
from estimica.compiled.sparse_plan import SparsePlan
from estimica.compiled.sparsity import Tangent

# argument table, in the order of compiled.kernel.ARGUMENTS
(T, X, V, P, U, D, X_PRE, D_PRE, FLAGS, S, VS,
 XDOT, VDOT, UDOT, DT, S_PRE, K, STEP, W, WS) = range(20)  # fmt: skip
# what model functions have computed from the run constants, and the functions that do so
SAVED, STIFF_SAVED, SETUP, STIFF_SETUP = range(20, 24)
RESULT = 24

# functions, in the order of compiled.kernel.FUNCTIONS
(RHS, BOTH, LINEAR, OUTPUT, ALGEBRAIC, ALGEBRAIC_SENS, ALGEBRAIC_TOTAL, ALGEBRAIC_RATE, ZERO,
 ZERO_RATE, INSTANTS, EVENT, EVENT_SENS, CONSTRAINT, CONSTRAINT_SENS, CHECK, DELAYED, DELAYS,
 STIFF_JACOBIAN, STIFF_BOTH, STIFF_SECOND, STIFF_LINEAR, STIFF_SECOND_LINEAR, ZERO_SENS,
 ) = range(32, 56)  # fmt: skip

# sizes
(NX, NZ, NH, NV, NU, ND, NG, NT, NL, NC, NK, NY, M, N, NMEMORY, NSTIFF, LOWER, UPPER,
 NNZ_X, NNZ_V, NNZ_P, NNZ_Z, NNZ_J, NNZ_JP, NNZ_J2, NNZ_J2P, LOG_SIZE, SEGMENTS,
 BREAKS) = range(64, 93)  # fmt: skip
# switches
(DIRECT, LINEAR_Z, ZERO_NEEDS_Z, CONSTRAINT_NEEDS_Z, TERMINAL, HAS_EVENTS, SLOPED, METHOD, STIFF,
 STIFF_READY, STIFF_DIRECT, ERROR_TEST, BASE, DENSE, RESTART, LEFT, GENERATION,
 ABORT, FRESH) = range(100, 119)  # fmt: skip
# of g_z: its rank, and whether rows and columns were exchanged to find it
(RANK, FULL, STIFF_FULL) = (119, 141, 245)
(JUMPED, FIRST_ROUND) = range(248, 250)  # of an event: whether it set a state, where it is
IDLE = 289  # whether an event may leave all equations as they were; after it, whether it has
# counters and what failed last
(STEPS, REJECTED, EVALUATIONS, NEWTON, EVENTS, SWITCHES, STIFF_STEPS, FACTORISATIONS, FAIL, INDEX,
 TUNER, LAST_FAIL, EMITTED, FIRST_SEGMENT, LAST_SEGMENT, BREAK_COUNT,
 PIECE, SAMPLE, SINCE, STIFF_COUNT, CALM_COUNT) = range(120, 141)  # fmt: skip

N_COUNTER = CALM_COUNT - STEPS + 1
# addresses of the engine's units and of the arrays of the run
(I_VECTORS, I_SIDE, I_CURSOR) = range(61, 64)
(UNIT_ALGEBRAIC, UNIT_PROJECTION, UNIT_HISTORY, UNIT_EVENTS, UNIT_STIFF) = range(56, 61)
(TIMES, N_TIMES, STARTS, N_STARTS, VALUES, SLOPES, OUT, OUT_S, LOG) = range(270, 279)

# offsets of vectors in rw: one evaluation
(O_TIME, O_INPUT, O_UDOT, O_BEGIN, O_VALUE, O_P, O_D, O_V, O_VS, O_V_GOOD, O_G, O_GZ, O_LUZ, O_DZ,
 O_FX, O_FV, O_FP, O_ATOL, O_ACC, O_SETTING, O_REPORT, O_CLOCK, O_SUMMARY,
 ) = range(142, 165)  # fmt: skip
# a complete factorisation of g_z, where it is singular, and of the stiff method's matrix
(O_ROW_SIZE, O_ROW_WORK, O_STIFF_SIZE, O_STIFF_WORK) = range(165, 169)
(I_STIFF_ROWS, I_STIFF_COLUMNS, STIFF_RANK) = range(187, 190)
# damped steps: scales of the rows of g_z, z before the step, and where it began
(O_SCALE, O_Z_OLD, O_Z_BEGIN) = (169, 98, 93)
# the explicit method and its dense output
(O_W0, O_W1, O_WT, O_WD, O_K1, O_K2, O_K3, O_K4, O_K5, O_K6, O_K7, O_E, O_R2, O_R3, O_R4, O_R5,
 O_RZ) = range(170, 187)  # fmt: skip
# events
(O_X_PRE, O_D_PRE, O_FLAGS, O_S_PRE, O_XDOT, O_VDOT, O_DT, O_ZERO, O_ZERO_LOW, O_ZERO_RATE,
 O_ZERO_S, O_SLACK, O_TRIGGERED, O_INSTANT, O_INSTANT_S, O_EVENT_X, O_FIRED, O_EVENT_L, O_EVENT_S,
 O_W_START, O_WINDOW) = range(190, 211)  # fmt: skip
# constraints, checks, delays
(O_C, O_CX, O_CC, O_CS, O_CHECK, O_Q, O_QS, O_TAU, O_TAU_S, O_HISTORY, O_BREAKS,
 O_W_BEFORE, O_WEIGHT, O_W_AFTER, O_Q_MAX) = range(215, 230)  # fmt: skip
# what was computed from run constants
(O_SAVED, O_STIFF_SAVED) = range(246, 248)
# the stiff method
(O_SW0, O_SWT, O_SK, O_SF, O_SFT, O_SJ, O_SJP, O_SJS, O_SJSP, O_SJ2, O_SJ2P, O_SA, O_SL, O_SC,
 O_SSTEP) = range(230, 245)  # fmt: skip
# offsets of index vectors in iw: relations that need an algebraic unknown, logicals that a state
# relation decides, rows and columns of a complete factorisation
(I_IMPLICIT, I_DECIDED, I_ROWS, I_COLUMNS) = range(211, 215)
(I_PIVOT, I_FX_ROW, I_FX_COL, I_FV_ROW, I_FV_COL, I_FP_ROW, I_FP_COL, I_GZ, I_STRICT, I_UNTIL,
 I_ORDER, I_PIVOT_STIFF, I_J_ROW, I_J_COL, I_JP_ROW, I_JP_COL, I_J2_ROW, I_J2_COL, I_J2P_ROW,
 I_J2P_COL) = range(250, 270)  # fmt: skip
# sparse factorisations of g_z and of the stiff method's matrix: their heads and their reals
(I_SPARSE_Z, O_SPARSE_Z, I_SPARSE_STIFF, O_SPARSE_STIFF) = range(94, 98)
# nonzeros in place of sensitivities: heads, values, and what moves with the time of an event
(I_TANGENT_Z, I_TANGENT_ZERO, I_TANGENT_EVENT, O_TANGENT_Z, O_TANGENT_ZERO, O_TANGENT_EVENT,
 O_MOVED_Z, O_MOVED_EVENT) = range(280, 288)  # fmt: skip
# the search block by block: min and max of the unknowns, where a block began and its residuals
# there, what its residuals shall be, and a root that is kept; where the block of an unknown ends
(O_Z_LOW, O_Z_HIGH, O_Z_FIRST, O_G_FIRST, O_TARGET, O_Z_FOUND, I_BLOCK_END) = range(290, 297)
#: modes before an event, beside the states in O_W_START; relations that only f, g and events
#: look at
(O_D_START, I_SILENT) = (298, 288)
#: checks whose violation is a failure; the other NK - NE end a run in good order
NE = 297
#: what a piece of the inputs makes of the states as it begins: the function, the states after it,
#: the nonzeros of its derivatives and their head
(UPDATE, O_UPDATED, O_TANGENT_UPDATE, I_TANGENT_UPDATE) = range(299, 303)
#: what an event makes of the states besides its equations, as it begins and after it
(BEFORE_EVENT, O_TANGENT_BEFORE, I_TANGENT_BEFORE, AFTER_EVENT, O_TANGENT_AFTER,
 I_TANGENT_AFTER) = range(303, 309)  # fmt: skip
#: members that step together: how many, their unit, how many of them are still in the group; rows
#: of the stiff vector; what becomes of samples, where members' outputs and derivatives begin
(LANES, UNIT_LANES, ALIVE, STIFF_SIZE, SINK, UNIT_DRIVE) = range(310, 316)
#: which lanes are in the group, their errors in the last trial, trials that ended in no number,
#: signs of stiffness; samples, normal equations, work
(O_LANE_ALIVE, O_LANE_ERROR, O_LANE_LOST, O_LANE_RATE, O_LANE_Y, O_LANE_YS, O_NORMAL,
 O_LANE_WORK) = range(316, 324)  # fmt: skip
#: all members of an ensemble: independent constants or starts (addresses; how many constants), the
#: function that prepares a run and its arguments, values and weights to compare with (and from
#: member to member), how each run ended
(CONSTANTS, N_CONSTANTS, START_P, START_X, START_S, START_Z, START_D, PREPARE, GIVEN, GIVEN_RATES,
 MEASURED, MEASURED_STRIDE, WEIGHT, ENDED, ALL_Y, ALL_YS, ALL_NORMAL) = range(326, 343)  # fmt: skip
#: run constants; normal equations of a member; members of the present group; trials in which each
#: has held up the others; weights from member to member
NP, N_NORMAL, COUNT, O_LANE_HELD, WEIGHT_STRIDE = range(343, 348)
#: events in a group: the arrays of the members' companions (addresses of iw and rw, one after the
#: other), the relation of each member that changes now, when that is; events of all members so far
(I_COMPANIONS, O_LANE_CAUSE, O_LANE_WHEN, OWN_EVENTS) = range(348, 352)
#: what is remembered of the events of members that have come to their end: rows, how many there are
#: and how many there may be, how many of them each member has
(LOG_ROWS, LOGGED, LOG_ROOM, LOG_COUNTS) = range(352, 356)
#: what a group adds up of [x; S] (begin, length), and of the rows of S (begin, length, column)
(I_STRETCH, N_STRETCH, I_ROW_STRETCH, N_ROW_STRETCH) = range(356, 360)
FIRST_INDEX = 360  # index vectors begin here

# places in the settings vector
(RTOL, MAX_STEP, FIRST_STEP, MAX_STEPS, SPAN, ATOL_CHECK, END, LONGEST_STEP,
 FIXED_STEP) = range(9)  # fmt: skip
N_SETTING = 9
# places in the clock vector
(NOW, NEXT_STEP, TAKEN, ARRIVAL, LAST_ERROR, BEGIN, LONGEST, BLUR, AFTER_JUMP, LAST_LEAP,
 PROBED, LAST_EVENT) = range(12)  # fmt: skip
N_CLOCK = 16
# places in the report vector
R_TIME, R_STEP, R_ROOT, R_INSTANT, R_NORM, R_SIDE, R_LANES = range(7)
N_REPORT = 8
# what is kept about each relation, one vector after the other in O_WINDOW: when it changed last,
# how often in quick succession, how far it is let rest beyond its surface, its largest value so
# far, until when it may rest and how long that is, how far it was let rest at most and since when
(CHANGED, QUICK, REST, SIZE, UNTIL, PATIENCE, WIDEST, WIDEST_AT) = range(8)
N_WINDOW = 8
# what METHOD says
AUTOMATIC, EXPLICIT, IMPLICIT, EULER = range(4)
# events are remembered by (time, kind, index)
LOG_WIDTH = 3
AT_STATE, AT_TIME, AT_INPUT, AT_DELAY = range(4)
# tasks of the units
LEAP, SEARCH = 1, 2
EVENT_LOCATE, EVENT_POLISH, EVENT_BEFORE, EVENT_SETTLE, EVENT_NEXT = range(5)
EVENT_BEGIN, EVENT_ARRIVE = range(5, 7)  # of groups, which have EVENT_LOCATE besides
PAST_LOOK_UP, PAST_RECORD, PAST_BEGIN, PAST_BEFORE, PAST_ADD, PAST_TAKE = range(6)
STIFF_STEP, STIFF_DENSE, STIFF_NORM, STIFF_CORRECT = range(4)
(LANE_ERROR, LANE_RATE, LANE_PRODUCTS, LANE_EMIT, LANE_CHECK, LANE_REJECT, LANE_COLLAPSE,
 LANE_STIFF, LANE_REPORT) = range(9)  # fmt: skip
# where samples go: to the outputs of the members, or into their normal equations
TO_OUTPUTS, TO_NORMAL = range(2)
# a relation that changes so often in quick succession does so without end (chosen: a contact that
# bounces twice within a sliver of the run is still resolved)
QUICK_LIMIT = 3

# the head of a sparse factorisation, whose vectors follow it: size, room for nonzeros of each
# factor, whether pivots are known, whether it holds the last factorisation, offsets behind the head
(H_N, H_ROOM, H_KNOWN, H_USED, H_START, H_ROWS, H_SOURCE, H_PREFER, H_COLUMN, H_PLACE, H_PIVOT,
 H_LP, H_UP, H_STACK, H_NEXT, H_MARK, H_REACH, H_LI, H_UI) = range(19)  # fmt: skip
# and offsets in its reals
(H_X, H_LX, H_UX, H_DIAGONAL, H_WORK) = range(19, 24)
HEAD = 24
NO_HEAD: Indices = np.zeros(HEAD, np.int64)


# the head of a tangent: its rows, the nonzeros of its four parts; all their rows and then columns
(G_ROWS, G_X, G_V, G_PRE, G_TUNERS, G_FIRST) = range(6)


def tangent_head(tangent: Tangent) -> Indices:
    """The head and the places of the nonzeros; no rows where there are none."""
    counts = [len(p.rows) for p in tangent.parts]
    head = np.array([tangent.rows, *counts], np.int64)
    rows, columns = ([getattr(p, of) for p in tangent.parts] for of in ("rows", "columns"))
    return np.concatenate([head, *rows, *columns])


def sparse_head(plan: SparsePlan | None) -> Indices:
    """The head and the vectors of a factorisation; its size is 0 where there is no plan."""
    if plan is None:
        return NO_HEAD
    n, room = len(plan.columns), plan.capacity
    head = NO_HEAD.copy()
    head[H_N], head[H_ROOM] = n, room
    vectors = [plan.starts, plan.rows, plan.places, plan.pivots, plan.columns]
    work = [n, n, n + 1, n + 1, n, n, n, n, room, room]
    sizes = [len(v) for v in vectors] + work
    head[H_START : H_UI + 1] = HEAD + np.concatenate([[0], np.cumsum(sizes)[:-1]])
    head[H_X : H_WORK + 1] = np.cumsum([0, n, room, room, n])
    return np.concatenate([head, *vectors, np.zeros(sum(work), np.int64)])


def sparse_reals(plan: SparsePlan | None, m: int) -> int:
    """How many reals it needs for right-hand sides of m columns."""
    if plan is None:
        return 0
    n = len(plan.columns)
    return 2 * n + 2 * plan.capacity + n * max(1, m)
