"""What every kind of model offers, and outputs that are formulas of its outputs."""
