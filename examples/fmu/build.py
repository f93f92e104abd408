"""Builds an FMU from C: `python build.py [--fmi 3] [--directional none] [--out FILE]`.

The equations of a model are in source/<model>.c, its variables in source/<model>.toml; fmi2.c and
fmi3.c wrap any such model. A C compiler is needed: cc, gcc or clang, or what $CC names.
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
import uuid
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from description import fmi2_text, fmi3_text, identifier

HERE = Path(__file__).parent
SOURCE = HERE / "source"
#: what the directional derivatives are worth: (factor, status)
DIRECTIONAL = {"right": (1, 0), "none": (0, 3), "wrong": (1.3, 0), "zero": (0, 0), "error": (1, 3)}


@dataclass(frozen=True)
class Variable:
    """One variable of the model description; its number is its value reference."""

    number: int
    name: str
    role: str  # time, state, derivative, input, parameter, output, indicator or discrete
    start: float | int | bool | None = None
    unit: str = ""
    description: str = ""
    type: str = "Real"
    tunable: bool = False
    calculated: bool = False  # a state that follows from parameters
    min: float | None = None
    max: float | None = None
    nominal: float | None = None


@dataclass(frozen=True)
class Model:
    """The variables of a model and what an importer needs to know besides."""

    name: str
    description: str
    stop: float
    step: float
    variables: tuple[Variable, ...]

    def of(self, role: str) -> tuple[Variable, ...]:
        """The variables of one role."""
        return tuple(v for v in self.variables if v.role == role)


def read_model(path: Path) -> Model:
    """The variables of a .toml file, numbered."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    rows: list[dict[str, object]] = [{"name": "time", "role": "time", "unit": "s"}]
    for role in ("state", "derivative", "input", "parameter", "output", "indicator", "discrete"):
        if role == "derivative":
            rows += [{"name": f"der({n})", "role": role} for n in table["state"]]
        else:
            rows += [{"name": n, "role": role, **more} for n, more in table.get(role, {}).items()]
    variables = tuple(Variable(number=k, **row) for k, row in enumerate(rows))  # type: ignore[arg-type]
    return Model(path.stem, table["description"], table["stop"], table["step"], variables)


def build(
    source: Path,
    out: Path,
    *,
    fmi: int = 2,
    kinds: Sequence[str] = ("me", "cs"),
    directional: str = "right",
    parameter_derivatives: bool = True,
    defines: Mapping[str, object] | None = None,
    include: Path | None = None,
    token: str | None = None,
) -> Path:
    """Compile `source` (a .c file beside its .toml) and write the FMU `out`.

    `directional` says what directional derivatives are: right, none, wrong, zero (with status OK)
    or error; with `parameter_derivatives=False` they are refused for parameters. `include` is a
    header and `defines` are macros that the compiler is given; `token` goes into the binary instead
    of what the description says.
    """
    model = read_model(source.with_suffix(".toml"))
    factor, status = DIRECTIONAL[directional]
    options = (
        fmi,
        *sorted(kinds),
        directional,
        parameter_derivatives,
        sorted((defines or {}).items()),
    )
    guid = f"{{{uuid.uuid5(uuid.NAMESPACE_URL, f'estimica/{model.name}/{options}')}}}"
    macros = {
        "DIRECTIONAL_FACTOR": factor,
        "DIRECTIONAL_STATUS": status,
        "PARAMETER_DERIVATIVES": int(parameter_derivatives),
        "GUID": f'"{token or guid}"',
        **(defines or {}),
    }
    text = fmi2_text if fmi == 2 else fmi3_text
    with tempfile.TemporaryDirectory() as folder:
        library = _compile(model, source, Path(folder), fmi, macros, include)
        out.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            description = text(model, guid, kinds, directional != "none")
            for name, content in (
                ("modelDescription.xml", description.encode()),
                (f"binaries/{binary_folder(fmi)}/{library.name}", library.read_bytes()),
            ):  # without the time of day: the same sources give the same file
                archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return out


def binary_folder(fmi: int) -> str:
    """The folder of binaries for this machine, as the version of FMI calls it."""
    system = {"linux": "linux", "darwin": "darwin", "win32": "windows"}[sys.platform]
    if fmi == 2:
        return {"windows": "win"}.get(system, system) + ("64" if sys.maxsize > 2**32 else "32")
    machine = platform.machine().lower()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine) + f"-{system}"


def compiler() -> list[str]:
    """The C compiler of this machine; empty where there is none."""
    if "CC" in os.environ:
        return shlex.split(os.environ["CC"])
    found = next((c for c in ("cc", "gcc", "clang") if shutil.which(c)), None)
    return [found] if found else []


def _compile(
    model: Model,
    source: Path,
    folder: Path,
    fmi: int,
    macros: Mapping[str, object],
    include: Path | None,
) -> Path:
    if not compiler():
        raise SystemExit("an FMU is built by a C compiler; install one, or name it in $CC")
    (folder / "variables.h").write_text(_variables(model), encoding="utf-8")
    (folder / "names.h").write_text(_names(model), encoding="utf-8")
    ending = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
    library = folder / f"{model.name}{ending}"
    command = [
        *compiler(),
        *("-std=c11", "-O2", "-shared", "-Wall"),
        *(() if sys.platform == "win32" else ("-fPIC", "-fvisibility=hidden")),
        *(f"-D{name}={value}" for name, value in macros.items()),
        *(("-include", str(include)) if include else ()),
        *(f"-I{folder}", f"-I{SOURCE}"),
        *(str(SOURCE / f"fmi{fmi}.c"), str(source), "-o", str(library), "-lm"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the compiler refused {source.name}:\n{done.stderr}")
    return library


def _variables(model: Model) -> str:
    """A header with the numbers of the variables and the values with which they start."""
    lines = [f"#define STEP {model.step!r}", f"enum {{ NV = {len(model.variables)} }};"]
    roles = {"X": "state", "DX": "derivative", "U": "input", "P": "parameter", "Z": "indicator"}
    for letter, role in roles.items():
        chosen = model.of(role)
        first = chosen[0].number if chosen else len(model.variables)
        lines.append(f"enum {{ N{letter} = {len(chosen)}, {letter}0 = {first} }};")
    if any(v.name == "ended" for v in model.variables):
        lines.append("#define CAN_END")
    names = ", ".join(f"I_{identifier(v.name)} = {v.number}" for v in model.variables)
    starts = ", ".join(repr(float(v.start or 0)) for v in model.variables)
    nominals = ", ".join(repr(v.nominal or 1.0) for v in model.of("state"))
    tunable = ", ".join(str(int(v.tunable)) for v in model.of("parameter"))
    lines += [
        f"enum {{ {names} }};",
        f"static const double START[NV] = {{ {starts} }};",
        f"static const double NOMINAL[] __attribute__((unused)) = {{ {nominals} }};",
        f"static const int TUNABLE[] __attribute__((unused)) = {{ {tunable} }};",
    ]
    return "\n".join(lines) + "\n"


def _names(model: Model) -> str:
    """A header that lets equations call variables by their names."""
    return "".join(f"#define {identifier(v.name)} values[{v.number}]\n" for v in model.variables)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Build the FMU of a heated room.")
    parser.add_argument("--fmi", type=int, choices=(2, 3), default=2)
    parser.add_argument("--kinds", nargs="+", choices=("me", "cs"), default=("me", "cs"))
    parser.add_argument("--directional", choices=DIRECTIONAL, default="right")
    parser.add_argument("--out", type=Path, default=HERE / "rcThermal.fmu")
    given = parser.parse_args()
    path = build(
        SOURCE / "rcThermal.c",
        given.out,
        fmi=given.fmi,
        kinds=given.kinds,
        directional=given.directional,
    )
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
