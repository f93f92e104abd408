"""Where everything stands in the two arrays of the compiled search for the start of a run.

iw[U..HOMOTOPY] is the table of arguments of the conditions and of what is derived from them,
iw[CONSTANTS..] that of the function that prepares a run, iw[RESULT..] that of results; then come
sizes, the functions' own addresses, those of the arrays of all members and of working memory, and
offsets of index vectors inside iw.
"""

from __future__ import annotations

#: unknowns, independent constants, time, inputs, modes, share of the homotopy
U, VALUES, TIME, INPUT, MODES, HOMOTOPY = range(6)
RESULT = 8  # of them up to three
CONSTANTS, RATES = 12, 13
#: unknowns and conditions; nonzeros of their Jacobian, and of that of the true residuals
N, NNZ, NNZ_SLOPE, N_OPEN, N_FREE, NZ, M, N_VALUES, NP, NX, N_BLOCKS = range(16, 27)
#: whether there is more to solve for than z, whether guesses are given, whether a search pays
IMPLICIT, GUESSED, SEARCHED = range(27, 30)
#: whether the model offers a homotopy; modes, and how many of them are relations
EASED, ND, N_RELATIONS = range(30, 33)
RESIDUAL, TRUE, SLOPE, THETA, GUESS, PREPARE, SETTLE = range(33, 40)
#: of all members: constants, run constants, states and their sensitivities, unknowns, where these
#: are looked for, and whether the start was found
ALL_VALUES, ALL_P, ALL_X, ALL_S, ALL_Z, ALL_D, ALL_GUESS, FOUND = range(40, 48)
#: working memory: points, residuals and Jacobians that hold, are tried, and are half of a step
W_NOW, W_TRIAL, W_BEGUN, W_SOLVED = range(48, 52)
W_R, W_R_TRIAL, W_R_HALF, W_E, W_SIZE = range(52, 57)
W_J, W_J_TRIAL, W_J_HALF, W_SLOPE = range(57, 61)
W_SCALE, W_TYPICAL, W_ROWS, W_STEP, W_WAY, W_ALLOWED = range(61, 67)
W_MATRIX, W_INVERSE, W_DU, W_LOGICAL = range(67, 71)
#: of each unknown: its typical size, min, max and the points between them; and one for all: how far
#: from a centre to look
W_SIZES, W_LOW, W_HIGH, W_BETWEEN, W_AWAY, W_POINTS, W_VALUES_AT, W_CENTRES = range(71, 79)
#: the block that is being solved: its size, its rows and columns (offsets inside iw)
B_N, B_ROWS, B_COLUMNS = range(80, 83)
I_ROW, I_COLUMN, I_SLOPE_ROW, I_SLOPE_COLUMN, I_PIVOT, I_ALL = range(84, 90)
I_ROWS, I_COLUMNS, I_BLOCK, I_SINGLE, I_GIVEN, I_ROW_AT, I_COLUMN_AT = range(90, 97)
I_OPEN, I_FREE, I_CURSOR, I_NEAR = range(97, 101)
#: the table of arguments of the function that settles modes: time, x, z, P, u, d, x and d before
T_TIME, T_X, T_Z, T_P, T_INPUT, T_D, T_X_PRE, T_D_PRE = range(104, 112)
#: modes that were found, and those to which they are compared
W_D_NEW, W_D_KEPT = 112, 113
HEADER = 116

#: what is asked for: the starts of members, or a root from where W_BEGUN is
STARTS, ROOT = range(2)
#: what comes of it: not found, found, or a search is needed, whose function SLOPE is not there yet
NOT_FOUND, DONE, NEEDS_SLOPE = range(3)

#: points on one side of a centre, and between min and max (see `roots/scalar.py`)
AWAY, BETWEEN = 161, 65
#: guess, zero, min and max
CENTRES = 4
POINTS = CENTRES * (2 * AWAY + 1) + BETWEEN
