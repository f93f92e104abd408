"""Machine code: from kernels to functions in memory and on disk; the door to Numba."""
