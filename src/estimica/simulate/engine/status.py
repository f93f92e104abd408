"""How a run can end, in numbers for the compiled loop and in words for people."""

from __future__ import annotations

DONE = 0
STEP_TOO_SMALL = 1
TOO_MANY_STEPS = 2
NOT_FINITE_START = 3
ALGEBRAIC = 4
SINGULAR = 5
ACCUMULATION = 6
EVENT_ITERATION = 7
CHATTERING = 8
CHECK_VIOLATED = 9
NOT_FINITE_OUTPUT = 10
DELAY_NOT_POSITIVE = 11
TIME_LIMIT = 14
TERMINATED = 15
FIXED_STEP = 16
HISTORY_FULL = 12  # internal: the engine runs again with more room
NEEDS_STIFF = 13  # internal: the engine compiles the stiff functions and runs again

TEXTS = {
    DONE: "reached the end",
    STEP_TOO_SMALL: "the step size collapsed: the solution is not smooth, or runs to infinity",
    TOO_MANY_STEPS: "too many steps between two samples",
    NOT_FINITE_START: "a derivative is not a finite number",
    ALGEBRAIC: "the algebraic equations could not be solved",
    SINGULAR: "the algebraic equations are singular",
    ACCUMULATION: "events accumulate: infinitely many in a finite time (Zeno)",
    EVENT_ITERATION: "the event iteration does not converge",
    CHATTERING: "a relation switches back and forth without end (chattering)",
    CHECK_VIOLATED: "an assertion or the domain of a function is violated",
    NOT_FINITE_OUTPUT: "an output is not a finite number",
    DELAY_NOT_POSITIVE: "a delay is not positive",
    TIME_LIMIT: "the time allowed for the run was over",
    TERMINATED: "ended by terminate()",
    FIXED_STEP: "the equations of a step of implicit Euler are not solved; take a shorter step",
    HISTORY_FULL: "the memory of the delays is full",
    NEEDS_STIFF: "the model has become stiff",
}
