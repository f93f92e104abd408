"""Linear models: state space, transfer functions, exact steps, frequency functions."""
