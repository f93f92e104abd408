"""What the values of a study file may be, and how a wrong one is told."""
