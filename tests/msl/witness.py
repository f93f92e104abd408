"""rumoca's own simulation of library classes, as an independent witness; run as a process.

python -m tests.msl.witness OUT.json STOP=CLASS ...
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import rumoca
from tests.msl.campaign import library

POINTS = 50


def main() -> None:
    """One JSON object: for each class its times and trajectories, or why there are none."""
    root = library()
    roots = [
        root,
        *(p for p in (root.parent / "ModelicaServices", root.parent / "Complex.mo") if p.exists()),
    ]
    session = rumoca.Session(roots=[str(r) for r in roots])
    found: dict[str, object] = {}
    for argument in sys.argv[2:]:
        stop, name = argument.split("=")
        text = (
            f"model Top extends {name}; constant Real eps_ = ModelicaServices.Machine.eps; end Top;"
        )
        begun = time.perf_counter()
        try:
            model = session.loads(text, model="Top")
            config = rumoca.SimConfig(rtol=1e-8, atol=1e-10, max_wall_seconds=30)
            run = model.simulate(t=(0.0, float(stop)), dt=float(stop) / POINTS, config=config)
            table = run.to_dataframe()
            found[name] = {
                "time": list(run.time),
                "values": {c: list(map(float, table[c])) for c in table.columns},
            }
        except BaseException as error:  # a panic is one too
            found[name] = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(
            name,
            "error" if "error" in found[name] else "ok",
            round(time.perf_counter() - begun, 1),
            file=sys.stderr,
            flush=True,
        )
        Path(sys.argv[1]).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
