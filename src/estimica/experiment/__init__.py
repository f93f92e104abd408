"""Before and beside a fit: signals to excite with, simulated experiments, first guesses."""

from estimica.experiment import signals as signals
