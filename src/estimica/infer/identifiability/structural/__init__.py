"""Whether an experiment could determine the unknowns at all: ranks of output derivatives."""
