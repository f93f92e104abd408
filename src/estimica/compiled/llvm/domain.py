"""How roots and powers go on beyond their domain, so that 0·∞ never makes a NaN of a derivative."""

from __future__ import annotations

#: square roots and powers have finite derivatives from here on; the last digits are such as nobody
#: writes: by them these floors are told from a user's
FLOOR = 1.0000000000000007e-30
POWER_FLOOR = 1.0000000000000007e-300
#: how far below zero the argument of a root may fall inside a step before it counts as an error
DOMAIN_TOLERANCE = 1e-6
#: whole exponents up to this one are products, which are exact for negative bases
MOST_PRODUCTS = 64
