"""The cost as a function of the unknowns: predictions, residuals, their derivatives."""
