"""The optimisation problem of a free input: nodes, limits, criterion, search."""
