"""Commands before and beside a fit: simulations, signals, frequency responses, input designs."""
