"""The room without and with the sun: what noise in the states tells of a model."""

from __future__ import annotations

from pathlib import Path

import estimica as es

HERE = Path(__file__).parent


def main() -> None:
    """Fit both studies and print what is found."""
    for name in ("room", "sunny"):
        fit = es.fit(es.read_study(HERE / f"{name}.toml"))
        print(fit)


if __name__ == "__main__":
    main()
