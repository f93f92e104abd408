"""Writes room.csv: 30 days of a room whose walls the sun shines on.

    python make_data.py

Every 10 minutes the temperature of the air, with the noise of its sensor, the outdoor temperature,
the power of the heater and the radiation of the sun. The room has the parameters of TRUE and is
integrated in steps of 20 seconds; the sun comes and goes with clouds. Seeded: the file is the same
every time.
"""

from __future__ import annotations

import csv
import math
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

TRUE = {"Ci": 2e6, "Cw": 2e7, "Ri": 2e-3, "Ro": 8e-3, "A": 3.0}
SIGMA = 0.05  # K, noise of the sensor
DAYS, INTERVAL, STEP = 30, 600, 20  # seconds
BEGIN = datetime(2025, 3, 1)


def weather(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Outdoor temperature in degC and radiation in W/m2 at every interval."""
    hours = np.arange(n) * INTERVAL / 3600
    front, cloud = np.zeros(n), np.zeros(n)
    for k in range(1, n):
        front[k] = 0.999 * front[k - 1] + 0.12 * rng.normal()
        cloud[k] = 0.97 * cloud[k - 1] + 0.24 * rng.normal()
    outside = 6 + front + 5 * np.sin(2 * math.pi * (hours - 9) / 24)
    clear = np.maximum(0, np.sin(math.pi * ((hours % 24) - 6.5) / 11.5)) * ((hours % 24) > 6.5)
    return outside, 600 * clear / (1 + np.exp(1.5 * cloud))


def heater(rng: np.random.Generator, n: int) -> np.ndarray:
    """Power in W: switched at random every two hours, less at night."""
    hours = np.arange(n) * INTERVAL / 3600
    switched = rng.random(n // 12 + 1).repeat(12)[:n]
    night = ((hours % 24) < 6) | ((hours % 24) > 22)
    return np.where(switched < np.where(night, 0.35, 0.65), 2500.0, 200.0)


def temperatures(outside: np.ndarray, sun: np.ndarray, power: np.ndarray) -> np.ndarray:
    """Of the air, by Heun's method; inputs keep their values for an interval."""
    p = TRUE
    air, walls, found = 20.0, 15.0, []

    def rates(air: float, walls: float, k: int) -> tuple[float, float]:
        through = (walls - air) / p["Ri"]
        lost = (outside[k] - walls) / p["Ro"]
        return (through + power[k]) / p["Ci"], (lost - through + p["A"] * sun[k]) / p["Cw"]

    for k in range(len(outside)):
        found.append(air)
        for _ in range(INTERVAL // STEP):
            a, w = rates(air, walls, k)
            b, v = rates(air + STEP * a, walls + STEP * w, k)
            air, walls = air + STEP * (a + b) / 2, walls + STEP * (w + v) / 2
    return np.array(found)


def main(folder: Path = Path(__file__).parent) -> None:
    """Write the file."""
    rng = np.random.default_rng(20250301)
    n = DAYS * 24 * 3600 // INTERVAL + 1
    outside, sun = weather(rng, n)
    # what the file has is what the room has felt
    outside, sun = np.round(outside, 2), np.round(sun, 1)
    power = heater(rng, n)
    air = temperatures(outside, sun, power) + SIGMA * rng.normal(size=n)
    with (folder / "room.csv").open("w", newline="", encoding="utf-8") as file:
        write = csv.writer(file, lineterminator="\n").writerow
        write(["time", "air [degC]", "outside [degC]", "heater [W]", "sun [W/m2]"])
        for k in range(n):
            stamp = BEGIN + timedelta(seconds=k * INTERVAL)
            row = (f"{air[k]:.2f}", f"{outside[k]:.2f}", f"{power[k]:.0f}", f"{sun[k]:.1f}")
            write([stamp.isoformat(timespec="minutes"), *row])


if __name__ == "__main__":
    main()
