"""Makes tanks.csv from the benchmark's data file, which has no time stamps of its own.

Get `dataBenchmark.csv` of the cascaded tanks at https://www.nonlinearbenchmark.org (M. Schoukens
and J.-P. Noel, 2017, free with citation), then: python prepare.py dataBenchmark.csv
"""

import sys
from pathlib import Path

import numpy as np

import estimica as es

COLUMNS = ("uEst", "yEst", "uVal", "yVal")
HEADER = "time [s],pump [V],level [V],pump_v [V],level_v [V]"


def main(source: Path, folder: Path) -> Path:
    """Write both experiments beside each other, a row every four seconds."""
    data = es.read_data(source)
    times = 4.0 * np.arange(len(data))
    table = np.column_stack([times, *(data.column(name) for name in COLUMNS)])
    path = folder / "tanks.csv"
    np.savetxt(path, table, fmt="%.6g", delimiter=",", header=HEADER, comments="")
    return path


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(main(Path(sys.argv[1]), Path(__file__).parent))
