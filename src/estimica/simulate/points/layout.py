"""Where everything stands in the two arrays of the driver over points.

iw[Z..SAVED] is the table of argument addresses of the model functions, iw[RESULT..] that of their
results; then come sizes, the functions' own addresses, and those of the arrays of all points.
"""

from __future__ import annotations

#: arguments of the model functions: unknowns, inputs, modes, run constants, dZ/dtheta
Z, U, D, P, W = range(5)
SAVED = 5
RESULT = 8
N, NZ, NU, ND, NY, M, NNZ, LINEAR, SENS = range(12, 21)
RESIDUAL, RATES, OUTPUT, MODES, CHECKS, TRUE, LIMITS = range(24, 31)
#: arrays: (N, nz), (N, nu), (N, nd), (N, nd), (N, ny), (N, ny m), (N, checks), scales (nz), work
ALL_Z, ALL_U, ALL_D, NEW_D, ALL_Y, ALL_YS, ALL_C, ALL_W, SCALE, WORK = range(32, 42)
N_CHECKS, N_LIMITS = 42, 43
#: offsets of index vectors inside iw
I_ORDER, I_PARENT, I_STATUS, I_SIGN, I_PLACE, I_PIVOT, N_ORDER = range(48, 55)
HEADER = 64

#: what the driver does
SOLVE, EVALUATE, ASK_MODES, ASK_CHECKS, ASK_LIMITS = range(5)
#: how a point ends; JUMPED: at a solution of another branch than the one that it came from
SOLVED, NOT_SOLVED, SINGULAR, NOT_FINITE, JUMPED = range(5)
