"""The host process of an FMU: answers requests until its parent closes the stream.

A request is (binary, experiment or None, key, points); the answer is a list of runs, or an error
as (code, message). Run as `python -m estimica.simulate.fmu.host`.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
from typing import IO, Any

from estimica.base.errors import EstimicaError
from estimica.base.process import end_with_parent
from estimica.simulate.fmu.child import serve_forks
from estimica.simulate.fmu.experiment import FmuExperiment, FmuPoint, FmuRun
from estimica.simulate.fmu.library import FmuBinary, FmuLibrary
from estimica.simulate.fmu.loop import layout as at
from estimica.simulate.fmu.workspace import FmuWorkspace, loop_of

#: experiments that are remembered. Chosen: the cases of a study; a forgotten one is sent again
MOST = 64
_SIZE = struct.Struct("<Q")


def write_message(stream: IO[bytes], content: Any) -> None:
    """One message: its length, then the pickled content."""
    data = pickle.dumps(content, protocol=5)
    stream.write(_SIZE.pack(len(data)) + data)
    stream.flush()


def read_message(stream: IO[bytes]) -> Any:
    """The next message; EOFError where there is none."""
    head = stream.read(_SIZE.size)
    if len(head) < _SIZE.size:
        raise EOFError
    (size,) = _SIZE.unpack(head)
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return pickle.loads(data)


class Host:
    """The library and the experiments that this process knows."""

    def __init__(self) -> None:
        self._library: FmuLibrary | None = None
        self._experiments: dict[int, FmuExperiment] = {}
        self._workspaces: dict[tuple[int, int], FmuWorkspace] = {}

    def answer(self, request: tuple[FmuBinary, FmuExperiment | None, int, list[FmuPoint]]) -> Any:
        """Runs, or (code, message)."""
        binary, experiment, key, points = request
        try:
            if self._library is None:
                self._library = FmuLibrary(binary, at.FUNCTIONS)
                self._library.instances(1)
                loop_of(binary.interface).address  # noqa: B018  compiled now, not in a timed run
            if experiment is not None:
                self._remember(experiment)
            return [self._run(key, point, self._library) for point in points]
        except EstimicaError as error:
            return error.code, error.message
        except Exception as error:  # whatever it is, the parent tells it
            return "M219", f"the process of the FMU failed: {type(error).__name__}: {error}"

    def _remember(self, experiment: FmuExperiment) -> None:
        self._experiments[experiment.key] = experiment
        while len(self._experiments) > MOST:
            oldest = next(iter(self._experiments))
            del self._experiments[oldest]
            self._workspaces = {k: w for k, w in self._workspaces.items() if k[0] != oldest}

    def _run(self, key: int, point: FmuPoint, library: FmuLibrary) -> FmuRun:
        m = len(point.deltas)
        if (key, m) not in self._workspaces:
            self._workspaces[key, m] = FmuWorkspace(self._experiments[key], library, m)
        return self._workspaces[key, m].run(point)


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer until the parent closes the stream; this process ends then."""
    end_with_parent(os.getppid())
    host = Host()
    while True:
        try:
            request = read_message(requests)
        except (EOFError, OSError):
            break
        write_message(answers, host.answer(request))
    os._exit(0)  # an FMU's own cleaning up may hang


def main() -> None:
    """Serve on the standard streams, or as the nursery on the connection that is named."""
    if len(sys.argv) > 1:
        connection = serve_forks(int(sys.argv[1]))
        serve(connection.makefile("rb"), connection.makefile("wb"))
    wire = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the FMU prints must not get between the messages
    serve(sys.stdin.buffer, wire)


if __name__ == "__main__":
    main()
