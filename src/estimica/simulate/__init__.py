"""From machine code, inputs and times to trajectories and their sensitivities."""
