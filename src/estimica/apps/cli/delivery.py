"""Delivery: a result is stored and printed first, then its files are written, and each that cannot
be is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from estimica.apps.cli.console import FAILED, NOT_WRITTEN, one_object, print_json, print_text, say
from estimica.base.errors import EstimicaError
from estimica.base.files.write import require_writable, require_writable_folder

if TYPE_CHECKING:
    from estimica.execute.runs.writer import RunWriter


Writer = Callable[[Path], object]


@dataclass(frozen=True, eq=False)
class Output:
    """A file that was asked for, and who writes it: a path, or several, come back."""

    path: Path
    write: Writer


@dataclass(frozen=True)
class NotWritten:
    """A file that was asked for and is missing, and why."""

    path: Path
    code: str
    message: str

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {"path": str(self.path), "code": self.code, "message": self.message}


@dataclass(frozen=True)
class Written:
    """What came of the outputs."""

    files: tuple[Path, ...] = ()
    missing: tuple[NotWritten, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """What the JSON of a command says more: nothing where all is written."""
        return {"not_written": [m.to_dict() for m in self.missing]} if self.missing else {}


@dataclass(frozen=True, eq=False)
class Delivery:
    """A result that is ready: as JSON, as texts, the files to write, how its work ended."""

    result: Callable[[], Mapping[str, object]]
    texts: Callable[[], Iterable[str]]
    outputs: Sequence[Output] = ()
    run: str = ""  # where it is stored
    hint: str = ""  # how to go on
    failure: str = ""  # why the work counts as failed


def requested_outputs(*outputs: tuple[Path | None, Writer]) -> tuple[Output, ...]:
    """The outputs whose option was given."""
    return tuple(Output(path, write) for path, write in outputs if path is not None)


def require_outputs(*files: Path | None, page: Path | None = None) -> None:
    """What is asked for can be written: better known before the work than after."""
    if page is not None:
        from estimica.report.write import require_report_ending

        require_report_ending(page)
    for path in (*files, page):
        if path is not None:
            require_writable(path)


def require_output_folder(folder: Path | None) -> None:
    """What is asked for can be written into this folder, which is made where there is none."""
    if folder is not None:
        require_writable_folder(folder)


def deliver(delivery: Delivery, *, as_json: bool, quiet: bool) -> None:
    """Print the result and write its files; ends with the exit code that all of it has.

    JSON is one object that names the files that are missing: it is printed after the attempt to
    write them, whatever comes of that.
    """
    if as_json:
        with one_object():  # the user's own code may print while a page is made
            done = written(delivery.outputs)
            result = delivery.result()
        print_json({**result, **done.to_dict()})
    else:
        for text in delivery.texts():
            print_text(text)
        done = written(delivery.outputs)
    if not quiet:
        for path in done.files:
            say(f"wrote {path}")
        if delivery.run:
            say(f"stored as run {delivery.run}{delivery.hint}")
    if delivery.failure and as_json:
        say(delivery.failure)
    report_not_written(done.missing, delivery.run)
    if done.missing:
        raise typer.Exit(NOT_WRITTEN)
    if delivery.failure:
        raise typer.Exit(FAILED)


def written(outputs: Iterable[Output]) -> Written:
    """Write all outputs; one that cannot be written stops no other."""
    files: list[Path] = []
    missing: list[NotWritten] = []
    stopped = False
    for output in outputs:
        try:
            if stopped:
                raise KeyboardInterrupt
            files += _paths(output.write(output.path))
        except KeyboardInterrupt:
            stopped = True
            missing.append(_missing(output, "P002", "stopped by Ctrl-C"))
        except EstimicaError as error:
            missing.append(NotWritten(output.path, error.code, error.message))
        except Exception as error:  # a page must not swallow the result, whatever is wrong with it
            missing.append(_missing(output, "P003", f"{type(error).__name__}: {error}"))
    return Written(tuple(files), tuple(missing))


def report_not_written(missing: Sequence[NotWritten], run: str = "") -> None:
    """Name each file that is missing, the reason, and the way to the result."""
    for one in missing:
        say(f"error {one.code}: {one.message}")
    if not missing:
        return
    if run:
        say(
            f"the result is stored: `estimica runs show {run} --json` prints it and "
            f"`estimica report {run} --out PATH` writes its page"
        )
    else:
        say("the result is not stored; make room or choose another place, and run it again")


def _missing(output: Output, code: str, why: str) -> NotWritten:
    return NotWritten(output.path, code, f"cannot write '{output.path}': {why}")


def _paths(answer: object) -> list[Path]:
    if isinstance(answer, Path):
        return [answer]
    return [p for p in answer if isinstance(p, Path)] if isinstance(answer, (list, tuple)) else []


def keep_page(result: Any, writer: RunWriter) -> None:
    """Keep the page of a result before its run ends; what goes wrong is only told."""
    if not writer.id:  # no store
        return
    try:
        from estimica.base.view_json import page_to_json

        writer.keep_page(page_to_json(result.page()))
    except KeyboardInterrupt:  # an impatient second Ctrl-C must not lose the result itself
        say("warning: the run is stored without its page")
    except Exception as error:
        say(f"warning: the run is stored without its page: {error}")
