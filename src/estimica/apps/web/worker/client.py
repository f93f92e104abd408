"""ModelWorker: a study's own process, in which its model and data are at hand for questions."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from pathlib import Path
from typing import Any

from estimica.apps.web.files.containment import require_safe, require_safe_task
from estimica.apps.web.jobs.process import exit_description
from estimica.apps.web.worker.tasks import TASKS
from estimica.base.errors import EstimicaError, WebError
from estimica.base.process import python_command, python_environment
from estimica.base.suggest import did_you_mean

# all chosen: a process holds a loaded model, which costs memory to keep and seconds to load again
IDLE = 600.0  # s after which a process that nobody asks is ended
ALIVE = 4  # processes at most
LOOK = 30.0  # s between two looks for idle ones
# s: what translates a model or simulates all cases may take minutes
PATIENCE = {"model": 180, "check": 300, "propose": 300, "match": 180, "export": 300}
SHORT = 60  # s, for all others
#: tasks that are about no study yet
WITHOUT_STUDY = ("propose", "propose_formula", "columns", "guess")
#: asked so often that only the newest question counts
RESTLESS = ("by_hand", "indicators")


class ModelWorker:
    """Asks the process of one study; it is started with the first question and kept warm."""

    def __init__(self, study: Path, root: Path | None = None) -> None:
        self.study = study
        self._root = root
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()
        self._newest: dict[str, object] = {}
        self.asked = time.monotonic()  # when the last question came or was answered
        self.waiting = 0  # questions without an answer yet

    @property
    def alive(self) -> bool:
        """Whether its process runs."""
        return self._process is not None and self._process.returncode is None

    async def ask(self, task: str, /, *, key: str = "", **args: Any) -> dict[str, Any]:
        """The answer of a task; what goes wrong there is an error here.

        Of restless tasks with the same `key` only the newest is answered: those that it overtakes
        end with G063.
        """
        if task not in TASKS:
            raise WebError("G067", f"a bench has no task '{task}'{did_you_mean(task, TASKS)}")
        # beside the event loop: a model may be large, and all its bytes are looked at
        await asyncio.to_thread(self._require_inside, task, args)
        question = asyncio.ensure_future(self._in_turn(task, f"{task} {key}", args))
        question.add_done_callback(_retrieved)
        # a page that is closed does not take the process with it, which others use
        return await asyncio.shield(question)

    async def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()

    async def _in_turn(self, task: str, key: str, args: dict[str, Any]) -> dict[str, Any]:
        mine = object()
        self._newest[key] = mine
        self.waiting += 1
        try:
            async with self._turn:
                if task in RESTLESS and self._newest.get(key) is not mine:
                    raise WebError("G063", "another question came before the answer")
                return await self._answer(task, args)
        finally:
            self.waiting -= 1
            self.asked = time.monotonic()
            if self._newest.get(key) is mine:
                del self._newest[key]

    async def _answer(self, task: str, args: dict[str, Any]) -> dict[str, Any]:
        patience = PATIENCE.get(task, SHORT)
        try:
            answer = await asyncio.wait_for(self._exchange(task, args), patience)
        except TimeoutError:
            await self.close()
            raise WebError(
                "G061", f"'{task}' took more than {patience} s and was stopped"
            ) from None
        except (EOFError, OSError):
            raise WebError("G062", f"'{task}' was not answered: {await self._ended()}") from None
        except BaseException:
            await self.close()  # between question and answer: nobody would read that
            raise
        if "found" in answer:
            return dict(answer["found"])
        raise EstimicaError(str(answer["code"]), str(answer["message"]))

    async def _exchange(self, task: str, args: dict[str, Any]) -> dict[str, Any]:
        process = await self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        content = json.dumps({"task": task, "args": args}).encode()
        process.stdin.write(b"%d\n" % len(content) + content)
        await process.stdin.drain()
        length = int(await process.stdout.readuntil(b"\n"))
        answer: dict[str, Any] = json.loads(await process.stdout.readexactly(length))
        return answer

    async def _started(self) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                *python_command("-m", "estimica.apps.web.worker.main", str(self.study)),
                *([str(self._root)] if self._root else []),
                env=python_environment(),
                cwd=self.study.parent,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=sys.platform != "win32",  # Ctrl-C is the server's to answer
            )
        return self._process

    async def _ended(self) -> str:
        """How the process ended, in words."""
        process, self._process = self._process, None
        if process is None:
            return "it was closed"
        try:  # to kill what has ended already would lose how it ended
            return exit_description(await asyncio.wait_for(process.wait(), 1.0))
        except TimeoutError:  # only its pipe has ended
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            return exit_description(await process.wait())

    def _require_inside(self, task: str, args: dict[str, Any]) -> None:
        """Nothing outside the served folder is read, and no code that nobody has agreed to."""
        if self._root is None:
            return
        if task not in WITHOUT_STUDY:
            require_safe(self.study, self._root)
        require_safe_task(task, self.study, args, self._root)


class ModelWorkers:
    """The benches of a server: few of them alive, and none for long without a question."""

    def __init__(self, root: Path | None = None, *, alive: int = ALIVE, idle: float = IDLE) -> None:
        self._root = root
        self._most = alive
        self._idle = idle
        self._benches: dict[Path, ModelWorker] = {}
        self._watch: asyncio.Task[None] | None = None
        self._room: asyncio.Task[None] | None = None

    def of(self, study: Path) -> ModelWorker:
        """The bench of a study; asked for again, it is the same."""
        if study not in self._benches:
            self._benches[study] = ModelWorker(study, self._root)
        bench = self._benches[study]
        bench.asked = time.monotonic()
        if self._watch is None or self._watch.done():
            self._watch = asyncio.ensure_future(self._tidy())
        if not bench.alive:
            self._room = asyncio.ensure_future(self.tidy(starting=1))
        return bench

    async def stop(self) -> None:
        """End all processes."""
        for task in (self._watch, self._room):
            if task is not None:
                task.cancel()
        self._watch = self._room = None
        await asyncio.gather(*(b.close() for b in self._benches.values()))
        self._benches.clear()

    async def tidy(self, starting: int = 0) -> None:
        """End those that nobody asks, and the longest unasked of too many with those that start."""
        now = time.monotonic()
        alive = sorted((b for b in self._benches.values() if b.alive), key=lambda b: b.asked)
        free = [b for b in alive if not b.waiting]
        over = max(len(alive) + starting - self._most, 0)
        for k, bench in enumerate(free):
            if k < over or now - bench.asked > self._idle:
                await bench.close()

    async def _tidy(self) -> None:
        while self._benches:
            await asyncio.sleep(min(LOOK, self._idle / 4))
            await self.tidy()


def _retrieved(question: asyncio.Future[Any]) -> None:
    """An answer that nobody waits for any more is not a fault."""
    if not question.cancelled():
        question.exception()
