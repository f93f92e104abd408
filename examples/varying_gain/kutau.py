"""First order with a gain that depends on the input: k0·(1 + k1/(0.5 + u²))/(1 + s·tau)."""

import numpy as np
from scipy.signal import lfilter

parameters = {"k0": 1.0, "k1": 2.0, "tau": 3.0}


def kutau(u, t, p):
    """First order with a gain that depends on the input"""
    decay = np.exp(-(t[1] - t[0]) / p["tau"])
    gain = p["k0"] * (1 + p["k1"] / (0.5 + u**2))
    return lfilter([0, 1 - decay], [1, -decay], gain * u)
