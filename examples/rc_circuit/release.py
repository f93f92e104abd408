"""RC circuit: resistance or capacitance can be found, but not both."""

from pathlib import Path

import estimica as es

study = es.read_study(Path(__file__).parent / "rc_circuit.toml")
release = es.release(study)
for step in release.steps:
    print(step)
print(release.fit)
for advice in release.advice:
    print(advice)
