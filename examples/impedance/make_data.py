"""Writes spectrum.csv: the impedance of a cell between 1 mHz and 10 kHz, with 0.5 % of noise."""

from pathlib import Path

import numpy as np

import estimica as es

CELL = "R0 + R1/(1 + R1*C1*s) + Zw*tanh(sqrt(s*Tw))/sqrt(s*Tw)"
TRUTH = {"R0": 0.02, "R1": 0.01, "C1": 2.0, "Zw": 0.05, "Tw": 60.0}


def spectrum(seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies in Hz and the measured impedance in Ohm."""
    frequency = np.logspace(-3, 4, 57)[::-1]  # as analysers sweep
    Z = es.frequency_function(CELL, parameters=TRUTH).frequency_response(2 * np.pi * frequency)
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal(len(Z)) + 1j * rng.standard_normal(len(Z))
    return frequency, Z + 0.005 * np.abs(Z) * noise


if __name__ == "__main__":
    frequency, Z = spectrum()
    rows = "".join(
        f"{f:.6g},{z.real:.8g},{z.imag:.8g}\n" for f, z in zip(frequency, Z, strict=True)
    )
    path = Path(__file__).with_name("spectrum.csv")
    path.write_text("f [Hz],Re [Ohm],Im [Ohm]\n" + rows, encoding="utf-8")
    print(f"wrote {path.name}")
