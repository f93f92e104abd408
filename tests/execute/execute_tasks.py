"""What worker processes do in the tests: functions that they can import."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from estimica.base.errors import SimulationError

if TYPE_CHECKING:
    from estimica.simulate.modelica.model import ModelicaModel


class Model:
    """A context that cannot be pickled, as a compiled model."""

    def __init__(self, factor: float) -> None:
        self.factor = factor
        self.pid = os.getpid()
        self.call: Callable[[float], float] = lambda x: factor * x


def model(factor: float, mark: str = "") -> Model:
    if mark:
        with open(mark, "a", encoding="utf-8") as file:
            file.write(f"{os.getpid()}\n")
    return Model(factor)


def scaled(context: Model, item: float) -> float:
    return context.call(item)


def slow_first(context: object, item: int) -> int:
    time.sleep(1.0 if item == 0 else 0.0)  # long, also on a busy machine
    return item * item


def worker(context: object, item: object) -> int:
    time.sleep(0.02)
    return os.getpid()


def thread() -> threading.Thread:
    """A context that no process with it may be copied."""
    waiting = threading.Thread(target=threading.Event().wait, daemon=True)
    waiting.start()
    return waiting


def numpy_random() -> float:
    return float(np.random.normal())


def drawn_without_seed(context: object, item: int) -> float:
    time.sleep(0.02)
    return numpy_random()


def drawn(context: object, seed: np.random.SeedSequence) -> list[float]:
    return list(np.random.default_rng(seed).normal(size=3))


def dies_at_three(context: object, item: int) -> int:
    if item == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def dies(context: object, item: int) -> int:
    os._exit(5)


def dies_once(context: object, item: str) -> str:
    if item and not Path(item).exists():
        Path(item).touch()
        os._exit(9)
    return "alive"


def raises(context: object, item: int) -> int:
    if item == 1:
        raise SimulationError("R099", "the tank ran dry at t = 3; raise its level")
    if item == 2:
        raise ZeroDivisionError("by nothing")
    if item == 3:
        raise SystemExit(4)
    return item


def unpicklable(context: object, item: int) -> object:
    return lambda: item


def refused() -> None:
    raise SimulationError("R098", "this model does not start")


def broken() -> None:
    raise ValueError("bad luck")


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def ends_all_but_first(mark: str) -> str:
    """Lets only the first worker that comes here live."""
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        os.kill(os.getpid(), signal.SIGKILL)
    return mark


def plain(context: object, item: int) -> int:
    time.sleep(0.01)
    return item


def noted_sleep(context: object, folder: str) -> None:
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(60)


def nested(context: object, item: int) -> str:
    from estimica.execute.workers.executor import executor

    return type(executor("local", 4)).__name__


def threads(context: object, item: int) -> str:
    return os.environ.get("OMP_NUM_THREADS", "")


class OnlyThere:
    """A result that can be pickled but not unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return float, ("no number",)


def only_there(context: object, item: int) -> object:
    return OnlyThere()


def loud(context: object, item: int) -> int:
    print("printed by a worker")
    os.write(1, b"written by a library\n")
    return item


def modelica(path: str) -> ModelicaModel:
    from estimica.simulate.load import load_model  # takes a second: not for every worker

    return load_model(path)


def sensitivities(model: ModelicaModel, k: float) -> bytes:
    """Every bit of outputs and derivatives."""
    found = model.sensitivities(np.linspace(0, 3, 50), wrt=["k"], parameters={"k": k})
    return found.jacobian.tobytes()
