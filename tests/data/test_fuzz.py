"""Mutilated files give a table or one clear error, never anything else."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path

import pytest

from estimica.base.errors import EstimicaError
from estimica.data.readers import read_data
from estimica.data.table import Data

SEEDS = [
    b"time [s],T [degC],p\n" + b"".join(b"%d,%d.5,%d\n" % (k, k, 2 * k) for k in range(30)),
    b"Zeit;T;p\ns;degC;bar\n" + b"".join(b"%d,5;%d,25;%d\n" % (k, k, k) for k in range(30)),
    b"# made\n% by\n// hand\nt a b\n" + b"".join(b"%d %d -%d\n" % (k, k, k) for k in range(30)),
    b"date\tx\n" + b"".join(b"15.11.2026 06:%02d\t%d\n" % (k, k) for k in range(30)),
    b'"t","a, b"\n' + b"".join(b'"%d","%d"\n' % (k, k) for k in range(30)),
]
SPLINTERS = [b",", b";", b"\t", b'"', b"\n", b"\r", b"\0", b"\xff\xfe", b"-", b"#", b"%", b"e"]
SPLINTERS += [b"NaN", b"inf", b"2026-11-15", b"99/99/9999", b"\xc3\x28", b"1e999", b"[", b"()"]


def mutilated(random_: random.Random) -> bytes:
    text = bytearray(random_.choice(SEEDS))
    for _ in range(random_.randint(1, 12)):
        at = random_.randrange(len(text) + 1)
        match random_.randrange(5):
            case 0:
                text[at:at] = random_.choice(SPLINTERS)
            case 1:
                del text[at : at + random_.randint(1, 40)]
            case 2:
                text[at : at + 1] = bytes([random_.randrange(256)])
            case 3:
                other = random_.choice(SEEDS)
                text[at:at] = other[random_.randrange(len(other)) :]
            case _:
                text[at:at] = random_.choice(SPLINTERS) * random_.randint(2, 30)
    return bytes(text)


@pytest.mark.parametrize("ending", [".csv", ".txt"])
def test_mutilated_text_gives_data_or_a_clear_error(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"run{ending}"
    told: list[str] = []
    for seed in range(200):
        path.write_bytes(mutilated(random.Random(f"{ending}{seed}")))
        try:
            data = read_data(path)
            assert isinstance(data, Data)
            repr(data)
            data.time()
        except EstimicaError as error:
            told.append(str(error))
    assert 0 < len(told) < 190  # most cuts break a table, but not all
    assert not [message for message in told if len(message.splitlines()) != 1]


@pytest.mark.parametrize("ending", [".mat", ".parquet", ".xlsx"])
def test_mutilated_binary_files_give_data_or_a_clear_error(tmp_path: Path, ending: str) -> None:
    import pandas as pd
    from scipy.io import savemat

    path = tmp_path / f"run{ending}"
    frame = pd.DataFrame({"t": range(50), "x": range(50)}, dtype=float)
    match ending:
        case ".mat":
            savemat(path, {n: frame[n].to_numpy() for n in frame}, oned_as="column")
        case ".parquet":
            frame.to_parquet(path)
        case _:
            frame.to_excel(path, index=False)
    whole = path.read_bytes()
    for seed in range(40):
        random_ = random.Random(seed)
        text = bytearray(whole)
        for _ in range(random_.randint(1, 8)):
            text[random_.randrange(len(text))] = random_.randrange(256)
        path.write_bytes(text[: random_.choice([len(text), random_.randrange(len(text))])])
        with contextlib.suppress(EstimicaError):
            assert isinstance(read_data(path), Data)
