"""Where what is in the work arrays of an FMU's run: `iw` of whole numbers, `rw` of reals.

iw begins with the addresses of the FMU's functions, then sizes, then places in rw (O_...) and
in iw itself (I_...). W vectors are [x; s_1; ...; s_m], the sensitivities column by column.
"""

from __future__ import annotations

from itertools import count

#: the functions of FMI 2 and of FMI 3 in the order of their addresses
FUNCTIONS = (
    ("fmi2Reset", "fmi3Reset"),
    ("fmi2SetupExperiment", ""),
    ("fmi2EnterInitializationMode", "fmi3EnterInitializationMode"),
    ("fmi2ExitInitializationMode", "fmi3ExitInitializationMode"),
    ("fmi2SetReal", "fmi3SetFloat64"),
    ("fmi2GetReal", "fmi3GetFloat64"),
    ("fmi2SetInteger", "fmi3SetInt32"),
    ("fmi2GetInteger", "fmi3GetInt32"),
    ("fmi2SetBoolean", "fmi3SetBoolean"),
    ("fmi2GetBoolean", "fmi3GetBoolean"),
    ("fmi2EnterEventMode", "fmi3EnterEventMode"),
    ("fmi2NewDiscreteStates", "fmi3UpdateDiscreteStates"),
    ("fmi2EnterContinuousTimeMode", "fmi3EnterContinuousTimeMode"),
    ("fmi2CompletedIntegratorStep", "fmi3CompletedIntegratorStep"),
    ("fmi2SetTime", "fmi3SetTime"),
    ("fmi2SetContinuousStates", "fmi3SetContinuousStates"),
    ("fmi2GetContinuousStates", "fmi3GetContinuousStates"),
    ("fmi2GetDerivatives", "fmi3GetContinuousStateDerivatives"),
    ("fmi2GetEventIndicators", "fmi3GetEventIndicators"),
    ("fmi2GetNominalsOfContinuousStates", "fmi3GetNominalsOfContinuousStates"),
    ("fmi2GetDirectionalDerivative", "fmi3GetDirectionalDerivative"),
    ("fmi2DoStep", "fmi3DoStep"),
    ("fmi2GetRealStatus", ""),
    ("fmi2Terminate", "fmi3Terminate"),
    ("fmi2GetBooleanStatus", ""),
)
(
    RESET, SETUP, ENTER_INIT, EXIT_INIT, SET_REAL, GET_REAL, SET_INT, GET_INT, SET_BOOL, GET_BOOL,
    ENTER_EVENT, NEW_STATES, ENTER_TIME, COMPLETED, SET_TIME, SET_X, GET_X, GET_RATES, GET_Z,
    GET_NOMINALS, DIRECTIONAL, DO_STEP, REAL_STATUS, TERMINATE, TRUTH_STATUS,
) = range(len(FUNCTIONS))  # fmt: skip

_next = count(len(FUNCTIONS))
FMI = next(_next)
N, M, NW, NZ, NU, NY, NP = (next(_next) for _ in range(7))
INSTANCES = next(_next)  # how many: the model itself, then above and below for each tuner
WANTS_STEPS = next(_next)  # whether the FMU hears of completed steps
BASE = next(_next)  # address of rw
MEMORY = next(_next)  # address of a few bytes for flags and small numbers
#: groups of variables: for reals, integers and booleans the address of the references, and count
G_PARAMETERS, G_INPUTS, G_OUTPUTS = (next(_next) + 5 * k for k in range(3))
_next = count(G_OUTPUTS + 6)
STATE_REFERENCES, RATE_REFERENCES = next(_next), next(_next)
TIMES, N_TIMES, STARTS, N_STARTS, VALUES, SLOPES = (next(_next) for _ in range(6))
Y, YS = next(_next), next(_next)  # addresses of the results
METHOD, MAX_STEPS = next(_next), next(_next)
GRID, N_GRID, VARIABLE_STEP = next(_next), next(_next), next(_next)  # of Co-Simulation
#: counters and what is going on
PIECE, SAMPLE, SLOPED, STIFF, STIFF_COUNT, CALM_COUNT, SINCE, FRESH = (
    next(_next) for _ in range(8)
)
STEPS, REJECTED, RATES, EVENTS, STIFF_STEPS, JACOBIANS, NEWTON = (next(_next) for _ in range(7))
JACOBIAN_AGE, ZENO, HAS_LU = next(_next), next(_next), next(_next)
#: what failed: the function, the FMU's status, the instance
R_FUNCTION, R_STATUS, R_INSTANCE = next(_next), next(_next), next(_next)
#: places in iw
I_INSTANCE, I_USED, I_WAY, I_KNOWN, I_N_KNOWN, I_LATE, I_PIVOT = (next(_next) for _ in range(7))
#: places in rw
O_CLOCK, O_SETTING, O_ATOL, O_SCALE, O_DELTA, O_PARAMETER, O_LATE, O_NEXT, O_U = (
    next(_next) for _ in range(9)
)
O_W0, O_W1, O_WS, O_K1, O_K2, O_K3, O_K4, O_K5, O_K6, O_K7 = (next(_next) for _ in range(10))
O_D1, O_D2, O_D3, O_D4, O_D5, O_ERR = (next(_next) for _ in range(6))
O_X, O_HIGH, O_LOW, O_SEED, O_YHIGH, O_YLOW, O_Z0, O_Z1, O_Z2 = (next(_next) for _ in range(9))
O_J, O_LU, O_RHS, O_NOMINAL = next(_next), next(_next), next(_next), next(_next)
HEAD = next(_next)

# the clock
NOW, NEXT_STEP, LAST_ERROR, TAKEN, ARRIVAL, LU_STEP, EVENT_BEFORE, WORST = range(8)
N_CLOCK = 8
# the setting
RTOL, MAX_STEP, BEGIN, END, SPAN, TOLERANCE = range(6)
N_SETTING = 6

AUTOMATIC, EXPLICIT, IMPLICIT = 0, 1, 2
BY_DIFFERENCES, BY_DIRECTION = 0, 1

# how a run ended
(
    DONE, DISCARDED, FAILED, TERMINATED, STEP_TOO_SMALL, TOO_MANY_STEPS, NOT_FINITE,
    ACCUMULATION, EVENT_ITERATION, NOT_FINITE_OUTPUT,
) = range(10)  # fmt: skip
