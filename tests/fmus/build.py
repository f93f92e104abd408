"""FMUs for tests, built from our own C sources: right ones, and ones with a trouble inside."""

from __future__ import annotations

import atexit
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
EXAMPLE = HERE.parent.parent / "examples" / "fmu"

sys.path.insert(0, str(EXAMPLE))
try:
    import build as builder  # examples/fmu/build.py
finally:
    sys.path.pop(0)

_FOLDER = tempfile.TemporaryDirectory(prefix="fmus")
atexit.register(_FOLDER.cleanup)

NAMES = ("vanDerPol", "bouncingBall", "rcThermal", "stiff", "pulsed", "emptying")
STATUSES = {"discard": 2, "error": 3, "fatal": 4}
KINDS = {**STATUSES, "segfault": 11, "hang": 12, "leak": 13, "exit": 14, "abort": 15, "nan": 16}


@dataclass(frozen=True)
class Fault:
    """A trouble of `kind` in one of the calls, where a parameter lies between two values.

    Kinds: discard, error, fatal (a status), segfault, exit, abort, hang, leak, nan. Calls:
    instantiate, enter initialisation, initialise, set, get, derivatives, indicators, event,
    completed, directional, step, reset, terminate. `after` calls of that name go well.
    """

    kind: str
    call: str
    parameter: str = ""
    above: float = -1e300
    below: float = 1e300
    after: int = 0
    text: str = "something is wrong"
    size: int = 1_000_000  # bytes that a leak loses in each call


def source(name: str) -> Path:
    """The C file of a model."""
    return (EXAMPLE / "source" if name == "rcThermal" else HERE) / f"{name}.c"


def build(
    name: str,
    out: Path,
    *,
    fmi: int = 2,
    kinds: Sequence[str] = ("me", "cs"),
    directional: str = "right",
    parameter_derivatives: bool = True,
    fault: Fault | None = None,
    token: str | None = None,
) -> Path:
    """An FMU of one of NAMES; `out` is the file, or a folder that gets <name>.fmu.

    `directional` is right, none, wrong, zero (status OK) or error. With
    `parameter_derivatives=False` directional derivatives by parameters are refused. `token` is
    the GUID in the binary where it is not to be that of the description.
    """
    return builder.build(
        source(name),
        out if out.suffix == ".fmu" else out / f"{name}.fmu",
        fmi=fmi,
        kinds=kinds,
        directional=directional,
        parameter_derivatives=parameter_derivatives,
        defines=_defines(name, fault) if fault else None,
        include=HERE / "fault.h" if fault else None,
        token=token,
    )


def _defines(name: str, fault: Fault) -> dict[str, object]:
    model = builder.read_model(source(name).with_suffix(".toml"))
    number = {v.name: v.number for v in model.variables}
    spoilt = model.of("derivative")
    return {
        "FAULT_KIND": KINDS[fault.kind],
        "FAULT_CALL": f'"{fault.call}"',
        "FAULT_TEXT": f'"{fault.text}"',
        "FAULT_NUMBER": number[fault.parameter] if fault.parameter else -1,
        "FAULT_ABOVE": fault.above,
        "FAULT_BELOW": fault.below,
        "FAULT_AFTER": fault.after,
        "FAULT_BYTES": fault.size,
        "FAULT_NAN_FIRST": spoilt[0].number,
        "FAULT_NAN_COUNT": len(spoilt),
    }


@cache
def built(name: str, **options: Any) -> Path:
    """The FMU in a folder of this process, built once; do not change it."""
    return build(name, Path(tempfile.mkdtemp(dir=_FOLDER.name)), **options)
