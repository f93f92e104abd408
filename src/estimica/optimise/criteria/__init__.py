"""From trajectories to numbers: criteria with their gradients, smooth constraints, indicators."""
