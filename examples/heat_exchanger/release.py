"""Heat exchanger: a lumped model fitted to one in cells, and what the record leaves open."""

from pathlib import Path

import estimica as es

here = Path(__file__).parent
for name in ("constant_flow.toml", "flow_steps.toml", "free_start.toml"):
    release = es.release(es.read_study(here / name))
    print(release)
    print("not released:", ", ".join(release.held) or "nothing")
    for advice in release.advice:
        print("-", advice)
