"""What an estimate is worth: intervals, tests, identifiability, residuals."""
