"""The same system as a Python function."""

import numpy as np
from scipy.signal import lfilter

parameters = {"k0": 1.5, "k1": 4, "tau": 2}


def kutau(u, t, p):
    """First order with a gain that depends on the input"""
    decay = np.exp(-(t[1] - t[0]) / p["tau"])
    gain = p["k0"] * (1 + p["k1"] / (0.5 + u**2))
    return lfilter([0, 1 - decay], [1, -decay], gain * u)
