"""The text of what a thread does with a sample: adds it to the normal equations, or writes it."""

from __future__ import annotations

from collections.abc import Sequence

from estimica.compiled.cuda.function_text import written

Places = Sequence[tuple[int, int]]  # (output, tuner)


_DATA = "const double *RESTRICT value, const double *RESTRICT weight"
_Y = "const double *RESTRICT y"


def records_text(ny: int, m: int, living: Places, groups: Sequence[Sequence[int]]) -> str:
    """The functions record, store (of the normal equations), write_out (of outputs) and write_rows
    (of weighted derivatives and residuals, whose products are the normal equations).

    y holds the outputs, and behind them their living derivatives; of JᵀJ the half is summed. Where
    there are `groups` of tuners, each writes what is its own.
    """
    if groups:
        return "\n".join(_grouped(ny, m, living, groups))
    adding: list[str] = []
    storing: list[str] = []
    size = 0
    for output in range(ny):
        places = [ny + k for k, (o, _) in enumerate(living) if o == output]
        tuners = [j for o, j in living if o == output]
        adding += _added(output, places, size)
        storing += _stored(output, tuners, size, m)
        size += 1 + len(tuners) + len(tuners) * (len(tuners) + 1) // 2
    results = "double *square, double *gradient, double *information"
    return "\n".join(
        [
            f"#define NSUMS {size}",
            written("record", f"{_Y}, {_DATA}, double *RESTRICT sums", adding),
            written("store", f"const double *RESTRICT sums, {results}", storing),
            written("write_out", f"{_Y}, double *Y, double *YS", _written(ny, m, living)),
            written("write_rows", f"{_Y}, {_DATA}, double *row, size_t apart",
                    _rows(ny, m, living)),
        ]
    )  # fmt: skip


def _grouped(ny: int, m: int, living: Places, groups: Sequence[Sequence[int]]) -> list[str]:
    """What the states write of a sample, and every group of tuners."""
    dead = [(o, j) for o in range(ny) for j in range(m) if (o, j) not in set(living)]
    outputs = [f"Y[{o}] = y[{o}];" for o in range(ny)]
    outputs += [f"YS[{o * m + j}] = 0.0;" for o, j in dead]
    residuals = [
        f"row[{o} * apart + {m}] = weight[{o}] > 0.0 ? weight[{o}] * (y[{o}] - value[{o}]) : 0.0;"
        for o in range(ny)
    ]
    row = "double *row, size_t apart"
    texts = [
        written("write_outputs", f"{_Y}, double *Y, double *YS", outputs),
        written("write_residuals", f"{_Y}, {_DATA}, {row}", residuals),
    ]
    for number, tuners in enumerate(groups):
        own = [(ny + k, o, j) for k, (o, j) in enumerate(living) if j in tuners]
        plain = [f"YS[{o * m + j}] = y[{k}];" for k, o, j in own]
        weighted = [
            f"row[{o} * apart + {j}] = weight[{o}] > 0.0 ? weight[{o}] * y[{k}] : 0.0;"
            for k, o, j in own
        ]
        weights = "const double *RESTRICT weight"
        texts.append(written(f"write_derivatives{number}", f"{_Y}, double *YS", plain))
        texts.append(written(f"write_row{number}", f"{_Y}, {weights}, {row}", weighted))
    return texts


def count_of_sums(ny: int, living: Places) -> int:
    """How many numbers a thread adds up for the normal equations."""
    per_output = [sum(o == output for o, _ in living) for output in range(ny)]
    return sum(1 + p + p * (p + 1) // 2 for p in per_output)


def _added(output: int, places: list[int], first: int) -> list[str]:
    """r² and its company of one output, at first, first + 1, ..."""
    p, y = len(places), places[0] if places else 0
    lines = [
        f"if (weight[{output}] > 0.0) {{",
        f"  const double s = weight[{output}], r = s * (y[{output}] - value[{output}]);",
        f"  sums[{first}] += r * r;",
    ]
    if p:
        lines += [
            f"  UNROLL for (int a = 0; a < {p}; a++) {{",
            f"    const double j = s * y[{y} + a];",
            f"    sums[{first + 1} + a] += j * r;",
            "    UNROLL for (int b = 0; b <= a; b++)",
            f"      sums[{first + 1 + p} + a * (a + 1) / 2 + b] += j * (s * y[{y} + b]);",
            "  }",
        ]
    return [*lines, "}"]


def _stored(output: int, tuners: list[int], first: int, m: int) -> list[str]:
    p = len(tuners)
    lines = [f"square[{output}] = sums[{first}];"]
    lines += [f"gradient[{output * m + j}] = sums[{first + 1 + a}];" for a, j in enumerate(tuners)]
    for a, j in enumerate(tuners):
        for b, k in enumerate(tuners[: a + 1]):
            row, column = (output * m + j) * m + k, (output * m + k) * m + j
            place = first + 1 + p + a * (a + 1) // 2 + b
            for where in sorted({row, column}):
                lines.append(f"information[{where}] = sums[{place}];")
    return lines


def _written(ny: int, m: int, living: Places) -> list[str]:
    where = {place: ny + k for k, place in enumerate(living)}
    lines = [f"Y[{o}] = y[{o}];" for o in range(ny)]
    for o in range(ny):
        for j in range(m):
            value = f"y[{where[o, j]}]" if (o, j) in where else "0.0"
            lines.append(f"YS[{o * m + j}] = {value};")
    return lines


def _rows(ny: int, m: int, living: Places) -> list[str]:
    """s J and s (y - value) of every output, zeros where the sample does not count."""
    where = {place: ny + k for k, place in enumerate(living)}
    lines = []
    for o in range(ny):
        lines.append(f"{{ const double s = weight[{o}] > 0.0 ? weight[{o}] : 0.0;")
        for j in range(m):
            value = f"s > 0.0 ? s * y[{where[o, j]}] : 0.0" if (o, j) in where else "0.0"
            lines.append(f"  row[{o} * apart + {j}] = {value};")
        lines.append(f"  row[{o} * apart + {m}] = s > 0.0 ? s * (y[{o}] - value[{o}]) : 0.0; }}")
    return lines
