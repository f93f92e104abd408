"""`es.optimise`: the best design, with what it is worth."""
