"""What is told of wrong studies, word for word: the table is messages.toml, and `tests/messages.py`
says how it is renewed (`python -m tests.study.test_messages --renew`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.messages import Messages, Provoke
from tests.study.frequency_data import PARTS, case
from tests.study.tank import write_study, write_tank

import estimica as es
from estimica.base.problems import Problem
from estimica.study.check.run import check, check_file
from estimica.study.fields import counts
from estimica.study.file.edit import moved, renamed, with_value
from estimica.study.file.read import examine_file, examine_tables
from estimica.study.file.save import read_text, write_text_if_unchanged
from estimica.study.form.labels import FILE_NAME, labels_of_text, read_labels
from estimica.study.form.tables import form_of
from estimica.study.petab.build import build
from estimica.study.petab.files import read_files
from estimica.study.petab.problem import read_problem
from estimica.study.record.samples import record

BROKEN = Path(__file__).resolve().parent / "broken"
BOILER = Path(__file__).resolve().parents[2] / "examples" / "drum_boiler" / "drum_boiler.toml"
START = 'free_start = ["x"]'
ESTIMATE = 'free_start = ["x"]\n[estimate]\ncriterion = '
Change = tuple[str, str]


def checked(*changes: Change, table: Change = ("", ""), **files: str) -> Provoke:
    """Check a study of the tank with some texts of it, and one of its data, replaced."""

    def provoke(folder: Path) -> list[Problem]:
        write_tank(folder)
        data = folder / "run1.csv"
        data.write_text(data.read_text(encoding="utf-8").replace(*table), encoding="utf-8")
        for name, text in files.items():
            (folder / f"{name}.py").write_text(text, encoding="utf-8")
        return check_file(write_study(folder, *changes))

    return provoke


def examined(*changes: Change) -> Provoke:
    """Read a study of the tank with some texts replaced."""

    def provoke(folder: Path) -> tuple[Problem, ...]:
        write_tank(folder)
        return tuple(examine_file(write_study(folder, *changes)).problems)

    return provoke


def called(use: Callable[[es.Study], object], *changes: Change) -> Provoke:
    """Use a study of the tank with some texts replaced."""

    def provoke(folder: Path) -> object:
        write_tank(folder)
        return use(es.read_study(write_study(folder, *changes)))

    return provoke


def other_file(name: str, content: bytes | None = None) -> Provoke:
    """Read another file than the study that lies there."""

    def provoke(folder: Path) -> tuple[Problem, ...]:
        write_study(folder)
        if content is not None:
            (folder / name).write_bytes(content)
        return tuple(examine_file(folder / name).problems)

    return provoke


def static(
    rows: str, tune: str = "p = 1\nq = 0", expression: str = "p*x + q", outputs: str = 'y = "y"'
) -> Provoke:
    """Check a study of a formula."""

    def provoke(folder: Path) -> list[Problem]:
        (folder / "points.csv").write_text(rows, encoding="utf-8")
        (folder / "line.toml").write_text(
            f'[static]\nexpression = "{expression}"\n[tune]\n{tune}\n[[case]]\nname = "points"\n'
            f'data = "points.csv"\ninputs = {{ x = "x" }}\noutputs = {{ {outputs} }}\n',
            encoding="utf-8",
        )
        return check_file(folder / "line.toml")

    return provoke


def of_table(hold: str = "previous", **columns: Any) -> Provoke:
    """Check a study of the tank with data of a program."""

    def provoke(folder: Path) -> list[Problem]:
        write_tank(folder)
        column = es.InputColumn("u", hold=hold)
        data = es.Case("c", columns, inputs={"u": column}, outputs={"y": "y"}, time="t")
        return check(es.Study(es.load_model(folder / "Tank.mo"), ["a"], [data]))

    return provoke


CHECKED: Mapping[str, Change] = {
    "a constant": ("b = 1.5", "c = 3"),
    "an input as tuner": ("b = 1.5", "u = 3"),
    "a state as tuner": ("b = 1.5", "x = 3"),
    "the model's own value outside the bounds": ("b = 1.5", "b = { min = 3 }"),
    "the logarithm of the model's own value": ("b = 1.5", '"w[2]" = { scale = "log" }'),
    "a start that the model does not allow": ("start = 0.4, min = 0, max = 5", "start = 20"),
    "an unknown parameter that is driven": ("b = 1.5", 'k = { start = 1, drives = ["bb"] }'),
    "an expression without the tuner": ("b = 1.5", 'k = { start = 1, drives = { b = "2*a" } }'),
    "a driving tuner without start": ("b = 1.5", 'k = { drives = { b = "2*k" } }'),
    "an unknown input": ('u = "current"', 'q = "current"'),
    "a variable as input": ('u = "current"', 'u = "current", x = 3'),
    "an input as output": ('y = "level"', 'u = "level"'),
    "an unknown name in the columns of all cases": (
        "[[case]]",
        '[columns]\nyy = "other"\n[[case]]',
    ),
    "a parameter in the columns of all cases": ("[[case]]", '[columns]\na = "other"\n[[case]]'),
    "hold of an output of all cases": (
        "[[case]]",
        '[columns]\nx = { column = "other", hold = "linear" }\n[[case]]',
    ),
    "a number for an output of all cases": ("[[case]]", "[columns]\nx = 3\n[[case]]"),
    "the unit of the time of all cases": (
        "[[case]]",
        '[columns]\ntime = { column = "t", unit = "min" }\n[[case]]',
    ),
    "left out of no columns": (START, 'without = ["y"]'),
    "columns of all cases that nobody takes": ("[[case]]", '[columns]\ny = "other"\n[[case]]'),
    "no such column of all cases in the file": ("[[case]]", '[columns]\nx = "otter"\n[[case]]'),
    "a parameter as start value": (START, 'free_start = ["idle"]'),
    "an output as start value": (START, 'free_start = ["T"]'),
    "a start value without effect": (START, 'free_start = ["x", "z"]'),
    "the model's start value outside the bounds": (START, "free_start = { x = { min = 3 } }"),
    "an unknown name in fix": (START, "fix = { idel = 1 }"),
    "a structural parameter in fix": (START, "fix = { n = 1 }"),
    "a free start value in fix": (START, START + "\nfix = { x = 1 }"),
    "an input in fix": (START, "fix = { u = 1 }"),
    "inputs that begin late": (START, START + "\nbegin = -1"),
    "just enough samples": (START, START + "\nto = 1"),
    "no case": (START, START + "\nactive = false"),
    "a misspelt criterion": (START, ESTIMATE + '"mle"'),
    "an unknown criterion": (START, ESTIMATE + '"chisquare"'),
    "an unknown name in the criterion": (START, ESTIMATE + '"residul^2"'),
    "a criterion without the simulation": (START, ESTIMATE + '"weight*measured^2"'),
    "a missing file of the criterion": (START, ESTIMATE + '"own.py:score"'),
    "a prior without noise": ("b = 1.5", "b = { start = 1.5, prior = { mean = 1, sigma = 1 } }"),
    "noise bounds without likelihood": (
        'y = "level"',
        'y = { column = "level", sigma = { min = 1 } }',
    ),
    "an unknown transform": ('y = "level"', 'y = { column = "level", transform = "logg" }'),
    "a logarithm of data that are zero": (
        'y = "level"',
        'y = { column = "other", transform = "log" }',
    ),
}

READ: Mapping[str, Change] = {
    "a truth value where a number is needed": ("b = 1.5", "b = true"),
    "bounds that leave nothing": ("min = 0, max = 5", "min = 5, max = 5"),
    "a logarithm below zero": ("b = 1.5", 'b = { max = 0, scale = "log" }'),
    "an unknown scale": ("b = 1.5", 'b = { start = 1, scale = "lin" }'),
    "a scale of the wrong kind": ("b = 1.5", "b = { start = 1, scale = [1] }"),
    "a prior without width": ("b = 1.5", "b = { start = 1, prior = { mean = 1, sigma = 0 } }"),
    "a name besides the key": ("b = 1.5", 'b = { name = "b" }'),
    "a dotted name without quotes in fix": (START, "fix = { pump.b = 1 }"),
    "an output that is a number": ('y = "level"', "y = 3"),
    "an unknown hold": ('u = "current"', 'u = { column = "current", hold = "liner" }'),
    "noise bounds the wrong way round": (
        'y = "level"',
        'y = { column = "level", sigma = { min = 2, max = 1 } }',
    ),
    "a start value outside its bounds": (START, "free_start = { x = { start = 1, min = 2 } }"),
    "bounds of a start value": (START, "free_start = { x = { max = 1, min = 2 } }"),
    "one name instead of a list": (START, 'free_start = "x"'),
    "a stretch that goes back": (START, "exclude = [[5, 1]]"),
    "half a stretch": (START, "exclude = [[5]]"),
    "a filter": (START, "prefilter = { band = [2, 1] }"),
    "a case without a name": ('name = "run 1"\n', ""),
    "a pattern that matches no file": ('"run1.csv"', '"run*.tsv"'),
    "data that is not a path": ('data = "run1.csv"', "data = 3"),
    "a misspelt table": ("[tune]", "[tuners]"),
    "an unknown table": ("[tune]", "[xyzzy]"),
    "an FMU with a class": ('"Tank.mo"', '"Tank.fmu"\nclass = "Tank"'),
    "a function": ("Tank.mo", "tank.py:simulate"),
    "a static study of a model": ("[tune]", '[static]\nmode = "static"\n[tune]'),
    "half a number of starts": ("[tune]", "[estimate]\nstarts = 1.5\n[tune]"),
    "not a number": ("b = 1.5", "b = nan"),
    "an infinite start": ("b = 1.5", "b = inf"),
}

RAMP = np.arange(10.0)
EARLY = {"t": RAMP, "u": np.where(RAMP < 6, 1.0, np.nan), "y": RAMP}
LEVELS = {"u": [1.0] * 4, "y": [1.0, 2.0, 3.0, 4.0]}
TWO_PINS = """
package P
  connector Pin Real v; flow Real i; end Pin;
  model Part
    Pin p; Pin n; parameter Real R = 1;
  equation
    p.v - n.v = R*p.i; 0 = p.i + n.i;
  end Part;
end P;
"""
PINS_STUDY = """
[model]
source = "Part.mo"
class = "P.Part"
[static]
mode = "static"
[tune]
R = 2
[[case]]
name = "points"
data = "points.csv"
inputs = { p.i = "i", "n.v" = 0 }
outputs = { "p.v" = "v" }
"""


def pins(folder: Path) -> list[Problem]:
    (folder / "Part.mo").write_text(TWO_PINS, encoding="utf-8")
    return check_file(write_study(folder, text=PINS_STUDY))


STUDIES: Mapping[str, Provoke] = {
    "nothing to find": checked(
        ("b = 1.5", "b = { start = 1.5, active = false }"),
        ("a = { start = 0.4, min = 0, max = 5 }\n", ""),
        (START, ""),
    ),
    "an input that no column gives": checked(
        ('inputs = { u = "current" }\n', ""), ("b = 1.5\n", "")
    ),
    "an unknown unit": checked(table=("level [m]", "level [furlong]")),
    "a unit in other letters": checked(
        ('y = "level"', 'y = "level", T = "temp"'), table=("temp [degC]", "temp [degc]")
    ),
    "time in minutes": checked(table=("t [s]", "t [min]")),
    "time in bar": checked(table=("t [s]", "t [bar]")),
    "a column in degrees Celsius": checked(('y = "level"', 'y = "level", T = "temp"')),
    "a column in coulombs, perhaps": checked(
        ('y = "level"', 'y = "level", T = "temp"'), table=("temp [degC]", "temp [C]")
    ),
    "a code for no value": checked(table=("2,1,2.896362", "2,1,-9999")),
    "a date where the data have none": checked((START, START + "\nfrom = 2025-03-01")),
    "a date that is none": checked((START, START + '\nfrom = "1 March"')),
    "an unknown time zone": checked((START, START + '\nreading = { timezone = "Mars/Olympus" }')),
    "a unit that the study contradicts": checked(
        ('y = "level"', 'y = "level", T = { column = "temp", unit = "K" }')
    ),
    "a temperature or a difference": checked(
        ('y = "level"', 'y = "level", T = "dT"'), table=("temp [degC]", "dT [degC]")
    ),
    "a variable without a unit": checked(
        ('y = "level"', 'y = "level", z = "other"'), table=(",other", ",other [kg]")
    ),
    "time that goes back": of_table(t=[0.0, 2.0, 1.0, 3.0], **LEVELS),
    "time that is missing": of_table(t=[0.0, np.nan, 1.0, 3.0], **LEVELS),
    "an input that ends early and is held": of_table(**EARLY),
    "an input that ends early and is linear": of_table("linear", **EARLY),
    "an input that ends early and is a spline": of_table("spline", **EARLY),
    "mistakes of file and study": checked(
        ("start = 0.4", 'start = "abc"'), ("b = 1.5", "B = 1.5"), ('u = "current"', 'v = "current"')
    ),
    "a misspelt function of the criterion": checked(
        (START, ESTIMATE + '"own.py:scor"'), own="def score(residual):\n    return residual**2\n"
    ),
    "a tuner that the formula lacks": static("x,y\n1,2\n2,3\n3,5\n", "p = 1\nr = 2\nq = 1"),
    "a parameter of the formula without value": static("x,y\n1,2\n2,3\n3,5\n", "p = 1"),
    "a point without input": static("x,y\n1,2\n,3\n3,5\n4,6\n"),
    "a point that cannot be computed": static("x,y\n1,2\n0,3\n3,5\n4,6\n", expression="p/x + q"),
    "one expression for two outputs": static(
        "x,y,z\n1,2,3\n2,3,4\n", expression="p*x", outputs='y = "y", z = "z"'
    ),
    "dotted inputs without quotes": pins,
    "a syntax error": examined(("b = 1.5", "b = ")),
    "a missing file of data": examined(("run1.csv", "run2.csv")),
    "a missing file of the model": examined(("Tank.mo", "Tnk.mo")),
    "a missing study": other_file("stdy.toml"),
    "a folder as study": other_file("."),
    "a study of other bytes": other_file("odd.toml", b"\xff\xfe\x00"),
    "a case without data to fit": called(es.fit, ('data = "run1.csv"\n', "")),
    "several mistakes at once": called(
        es.fit,
        ('source = "Tank.mo"', 'sorce = "Tank.mo"'),
        ("start = 0.4", 'start = "abc"'),
        ("b = 1.5", "b = { strat = 1.5 }"),
        ('u = "current"', 'u = { colum = "current" }'),
        (START, "[estimate]\nloss = 'hubert'\nstarts = 0"),
    ),
    "too many tuners and cases": lambda _: tuple(
        examine_tables(
            {
                "tune": {f"a{k}": 1 for k in range(counts.TUNERS + 1)},
                "case": [{"name": f"c{k}"} for k in range(counts.CASES + 1)],
            }
        )
    ),
}

VALUES: Mapping[str, Provoke] = {
    "Tuner: start is a word": lambda _: es.Tuner("a", start="x"),
    "Tuner: bounds the wrong way round": lambda _: es.Tuner("a", 1, 3, 2),
    "Tuner: a misspelt argument": lambda _: es.Tuner("a", strat=1),
    "Tuner: two words for numbers": lambda _: es.Tuner("a", start="x", min="y"),
    "Tuner: an empty name": lambda _: es.Tuner(""),
    "Tuner: no name": lambda _: es.Tuner(),
    "Tuner: a number as prior": lambda _: es.Tuner("a", prior=3),
    "Prior: a negative width": lambda _: es.Prior(1, -1),
    "Case: a number as output": lambda _: es.Case("c", "x.csv", outputs={"y": 3}),
    "Case: an unknown role": lambda _: es.Case("c", "x.csv", role="both"),
    "Case: a window that goes back": lambda _: es.Case("c", "x.csv", from_=3, to=2),
    "InputColumn: a misspelt hold": lambda _: es.InputColumn("u", hold="lnear"),
    "OutputColumn: no weight": lambda _: es.OutputColumn("y", weight=0),
    "StartValue: bounds the wrong way round": lambda _: es.StartValue(min=2, max=1),
    "Estimation: an unknown method": lambda _: es.Estimation(method="newton"),
    "Solver: a tolerance above one": lambda _: es.Solver(rtol=2),
    "Execution: a misspelt backend": lambda _: es.Execution(backend="vectro"),
}


def frequency_in(unit: str, key: str) -> Provoke:
    """Read a frequency response whose frequency is in a unit."""

    def provoke(folder: Path) -> object:
        path = folder / "a.csv"
        path.write_text(f"f [{unit}],re,im\n1,1,0\n2,1,0\n", encoding="utf-8")
        parts = {"y": {"real": "re", "imag": "im"}}
        return record(es.Case("a", path, outputs=parts, **{key: "f"}), inputs=["u"])

    return provoke


def recorded(inputs: tuple[str, ...] = ("u",), **given: Any) -> Provoke:
    return lambda _: record(case(**given), inputs=list(inputs))


def output(**given: Any) -> dict[str, Any]:
    return {"outputs": {"y": given}}


def unknown_output(_: Path) -> list[Problem]:
    model = es.state_space([["-1/tau"]], [["K/tau"]], [[1]], parameters={"K": 1, "tau": 1})
    return check(es.Study(model, ["K"], [case(outputs={"z": PARTS})]))


FREQUENCIES: Mapping[str, Provoke] = {
    "rad/s as frequency": frequency_in("rad/s", "frequency"),
    "kHz as angular frequency": frequency_in("kHz", "angular_frequency"),
    "rev/s as angular frequency": frequency_in("rev/s", "angular_frequency"),
    "deg/s as frequency": frequency_in("deg/s", "frequency"),
    "1/s as frequency": frequency_in("1/s", "frequency"),
    "khz as frequency": frequency_in("khz", "frequency"),
    "bar as frequency": frequency_in("bar", "frequency"),
    "a real part alone": lambda _: case(**output(real="Re(G)")),
    "a phase alone": lambda _: case(**output(phase="Re(G)")),
    "both parts and a phase": lambda _: case(**output(**PARTS, phase="f")),
    "a scale of the imaginary part beside magnitude and phase": lambda _: case(
        **output(magnitude="f", phase="f", imag_scale=-1)
    ),
    "one column for a response": lambda _: case(**output(column="f")),
    "a misspelt part": lambda _: case(**output(reel="f", imag="f")),
    "two frequencies": lambda _: case(angular_frequency="f"),
    "a time beside a frequency": lambda _: case(time="t"),
    "a begin beside a frequency": lambda _: case(begin=0.0),
    "a column as operating point": lambda _: case(inputs={"u": "t"}),
    "a free start beside a frequency": lambda _: case(free_start=["x"]),
    "a response without frequency": lambda _: case(frequency=None),
    "an operating point without frequency": lambda _: case(
        frequency=None, outputs={"y": "t"}, operating_point="start"
    ),
    "an unknown operating point": lambda _: case(operating_point="rest"),
    "a negative frequency": recorded(frequency="minus"),
    "an unknown column of frequency": recorded(frequency="freq"),
    "a response of real numbers": recorded(outputs={"y": "t"}),
    "a misspelt weighting": recorded(**output(**PARTS, weighting="relativ")),
    "an unknown real part": recorded(**output(real="Re(H)", imag="f")),
    "an unknown excited input": recorded(**output(**PARTS, input="v")),
    "a negative weighting": recorded(**output(**PARTS, weighting="minus")),
    "a negative sigma": recorded(**output(**PARTS, sigma="minus")),
    "sigma and weighting": recorded(**output(**PARTS, sigma="f", weighting="relative")),
    "a negative magnitude": recorded(**output(magnitude="minus", phase="f")),
    "a window without frequencies": recorded(from_=1e6),
    "a frequency case without outputs": recorded(outputs={}),
    "several inputs and none named": recorded(("u1", "u2")),
    "an unknown output of a response": unknown_output,
}


def edited(edit: Callable[..., object], text: str, *given: object) -> Provoke:
    return lambda _: edit(text, *given)


def on_boiler(edit: Callable[..., object], *given: object) -> Provoke:
    return lambda _: edit(BOILER.read_text(encoding="utf-8"), *given)


ONE_CASE = '[[case]]\nname = "a"\ninputs = { "n.v" = "valve", u = 0 }\n'
TWO_CASES = '[[case]]\nname = "a"\n[[case]]\nname = "b"\n'
SCATTERED = "[[case]]\nname = 'x'\n[tune]\na = 1\n[case.outputs]\ny = 'y'\n[[case]]\nname = 'b'\n"

EDITS: Mapping[str, Provoke] = {
    "edit: a value that TOML lacks": edited(with_value, "", ("tune", "a"), object),
    "edit: a key of a number": edited(
        with_value, ONE_CASE, ("case", 0, "inputs", "u", "hold"), "linear"
    ),
    "edit: moving a scattered case": edited(moved, SCATTERED, ("case", 0), 1),
    "edit: moving beyond the end": edited(moved, TWO_CASES, ("case", 1), 2),
    "edit: moving what is not there": edited(moved, TWO_CASES, ("case", 4), 0),
    "edit: a name that is taken": on_boiler(renamed, ("tune", "T_D"), "T_R"),
    "edit: renaming what is not there": on_boiler(renamed, ("tune", "T_X"), "b"),
    "edit: a number as case": on_boiler(with_value, ("case", 0), 3),
    "edit: a case that is not there": on_boiler(with_value, ("case", 3, "name"), "x"),
    "edit: no value": edited(with_value, "[tune]\na = \n", ("tune", "a"), 1),
    "edit: a key twice": edited(with_value, "[tune]\na = 1\na = 2\n", ("tune", "a"), 1),
    "edit: an open bracket": edited(with_value, "[tune", ("tune", "a"), 1),
    "edit: too many brackets": edited(with_value, "a = " + "[" * 9000, ("tune", "a"), 1),
}


def saved(folder: Path, now: str | None, known: str | None) -> object:
    path = folder / "a.toml"
    path.write_text("one", encoding="utf-8")
    _, fingerprint = read_text(path)
    path.unlink()
    if now is not None:
        path.write_text(now, encoding="utf-8")
    return write_text_if_unchanged(path, "three", fingerprint if known else None)


def read_beside(name: str) -> Provoke:
    def provoke(folder: Path) -> object:
        (folder / "boiler.toml").write_bytes(b"\xff\xfe")
        return read_text(folder / name)

    return provoke


def labels_of_other_bytes(folder: Path) -> object:
    (folder / FILE_NAME).write_bytes(b"\xff\xfe")
    return read_labels(folder)


def labels(text: str) -> Provoke:
    return lambda _: labels_of_text(text)


FILES: Mapping[str, Provoke] = {
    "save: changed by someone else": lambda folder: saved(folder, "two", "known"),
    "save: deleted meanwhile": lambda folder: saved(folder, None, "known"),
    "save: there already": lambda folder: saved(folder, "four", None),
    "save: no such folder": lambda folder: write_text_if_unchanged(
        folder / "none" / "a.toml", "x", None
    ),
    "open: a close name": read_beside("boilr.toml"),
    "open: other bytes": read_beside("boiler.toml"),
    "open: a folder": read_beside("."),
    "form: an unknown table": lambda _: form_of(("tunes",)),
    "form: an unknown field": lambda _: form_of(("tune", "*")).field("strat"),
    "labels: what must be given is hidden": labels('[hide]\nfields = ["case.*.name"]\n'),
    "labels: other bytes": labels_of_other_bytes,
    "labels: a misspelt field": labels('[labels]\n"tune.*.strat" = "x"'),
    "labels: an unknown field": labels('[hide]\nfields = ["qqq"]'),
    "labels: an order of a misspelt field": labels('[order]\n"tune.*" = ["mni"]'),
    "labels: a misspelt table": labels("[label]\nx = 1"),
    "labels: an unknown key": labels("[hide]\nonly = []"),
    "labels: a number": labels("[labels]\ntune = 3"),
    "labels: a syntax error": labels("[labels\n"),
    "labels: two mistakes": labels('[hide]\nfields = ["qqq", "rrr"]'),
}


def petab(**tables: str) -> Provoke:
    """Build a PEtab problem with some of its tables replaced."""

    def provoke(folder: Path) -> object:
        from tests.study.petab_problems import written

        return build(read_problem(written(folder, **tables)))

    return provoke


def petab_without_observables(folder: Path) -> object:
    from tests.study.petab_problems import written

    path = written(folder)
    (folder / "observables.tsv").rename(folder / "observable.tsv")
    return read_files(path)


def petab_from_elsewhere(folder: Path) -> object:
    from tests.study.petab_problems import written

    path = written(folder)
    text = path.read_text(encoding="utf-8").replace("model.xml", "https://example.org/m.xml")
    path.write_text(text, encoding="utf-8")
    return read_files(path)


def yaml_file(text: str) -> Provoke:
    def provoke(folder: Path) -> object:
        (folder / "other.yaml").write_text(text, encoding="utf-8")
        return es.read_study(folder / "other.yaml")

    return provoke


MEASURED = "observableId simulationConditionId time measurement\n"
OBSERVED = "observableId observableFormula noiseFormula\n"

PETAB: Mapping[str, Provoke] = {
    "PEtab: a missing file": petab_without_observables,
    "PEtab: a file from elsewhere": petab_from_elsewhere,
    "PEtab: another kind of file": yaml_file("a: 1\n"),
    "PEtab: an unknown version": yaml_file("format_version: 3\n"),
    "PEtab: an unknown observable": petab(measurements=MEASURED + "ob c0 0 1"),
    "PEtab: a time that is a word": petab(measurements=MEASURED + "obs c0 zero 1"),
    "PEtab: an unknown condition": petab(measurements=MEASURED + "obs c1 0 1"),
    "PEtab: an unknown parameter": petab(observables=OBSERVED + "obs A+k3 0.1"),
    "PEtab: no parameter of the noise": petab(observables=OBSERVED + "obs A noiseParameter1_obs"),
}

MISTAKES: Mapping[str, Provoke] = {
    **{mistake: checked(change) for mistake, change in CHECKED.items()},
    **{mistake: examined(change) for mistake, change in READ.items()},
    **{f"broken/{path.name}": lambda _, path=path: check_file(path) for path in sorted(BROKEN.glob("*.toml"))},
    **STUDIES, **VALUES, **FREQUENCIES, **EDITS, **FILES, **PETAB,
}  # fmt: skip
MESSAGES = Messages(__file__, MISTAKES)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_as_the_table_says(mistake: str, tmp_path: Path) -> None:
    assert MESSAGES.told(mistake, tmp_path) == MESSAGES.table[mistake]


def test_the_table_holds_these_mistakes_and_no_others() -> None:
    assert set(MESSAGES.table) == set(MISTAKES)


if __name__ == "__main__":
    MESSAGES.main()
