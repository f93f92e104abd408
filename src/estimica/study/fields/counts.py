"""Counts: how many of something a study may ask for, each limit with its reason.

The work is done piece by piece, but a list of all pieces, or one number for each, is held in
memory; and what would take years is a slip of the keyboard.
"""

from __future__ import annotations

#: whole searches: 10,000 of a tenth of a second take a quarter of an hour
STARTS = 10_000
#: refits: quantiles of 100,000 are known to 0.1 %, and each keeps all its estimates
REPLICATES = 100_000
#: draws of a chain, all of which are kept: quantiles of 100,000 are known to 0.1 %
DRAWS = 100_000
#: chains: each needs a warm-up of its own, so that many short ones are a waste
CHAINS = 1_000
#: simulated designs: each keeps its values, criteria and outcome, some 200 bytes
SAMPLES = 5_000_000
#: designs of a generation, of which all pairs are compared: 10⁸ pairs take a second
POPULATION = 10_000
#: designs of a front; with epsilon-constraints each is a search of its own
FRONT = 1_000
#: scenarios: every design of a search is simulated in all of them
SCENARIOS = 10_000
#: refits towards either end of an interval; the curve is smooth
PROFILE = 1_000
#: pieces of a case in multiple shooting, each with the start values of all states as unknowns
SEGMENTS = 10_000
#: elements of a case in collocation: with 10 states and degree 3 already 600,000 unknowns
ELEMENTS = 20_000
#: free values of an input, of which all pairs stand in a matrix: 0.2 GB
PIECES = 5_000
#: a line of a multisine is a multiple of its base frequency; its peak is looked for at 32 times
#: as many points of the period, 25 MB
LINE = 100_000
#: parts of the data, each left out of a fit
FOLDS = 10_000
#: samples of a block: no case has more rows
BLOCK = 100_000_000
#: iterates of a search, all of which are kept
ITERATIONS = 1_000_000
#: designs that a search simulates, all of which are kept
EVALUATIONS = 10_000_000
#: steps of a solver between two samples: nothing is kept, but 10⁸ take minutes already
SOLVER_STEPS = 100_000_000
#: unknowns released one after the other; each step fits every candidate
RELEASES = 1_000
#: samples that a prediction looks ahead: so many runs of the filter, and a curve of each is kept
AHEAD = 10_000
#: possible courses of a forecast: 1,000 with 1,000 times each are 8 MB, and all are drawn
PATHS = 1_000
#: TOML, JSON and SQLite hold whole numbers of 64 bits
SEED = 2**63 - 1
#: cases and tuners: all of them are compared by name and printed in tables
CASES = 10_000
TUNERS = 10_000
#: outputs that are formulas: each is one more equation of the model
OUTPUTS = 10_000
#: doses and switches of a case: each is a new start of the solver
CHANGES = 10_000
#: criteria and indicators: all of them stand in every table and plot
CRITERIA = 1_000
#: combinations of a grid: each is a simulation, and its values are kept
COMBINATIONS = SAMPLES
#: characters of a name or of a path: no file system has longer ones
NAME = 4_096
#: points of a map along each tuner: with 1,000 a million costs are computed and drawn
MAP_POINTS = 1_000
#: samples of an assessment whose curves are kept: 1,000 with 151 times each are a megabyte a signal
CURVES = 1_000
#: points of a cost curve: more than a screen can show
CURVE_POINTS = 10_000
#: times of a simulation or signal on the command line; all are held, written and drawn
SIMULATED = 1_000_000
