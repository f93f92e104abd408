"""Problems: what is wrong with a study, collected so that the user sees all of it at once."""

from __future__ import annotations

from dataclasses import dataclass, field

from estimica.base.errors import EstimicaError, StudyError


@dataclass(frozen=True, slots=True)
class Fix:
    """An edit of the study that cures a problem with an input or output of a case."""

    label: str  # as it stands on a button
    word: str  # "input" or "output"
    name: str
    changes: tuple[tuple[str, object], ...] = ()  # keys of its entry; None takes one out
    #: whether it is for this case only, also where the entry is one of all cases
    in_case: bool = False
    leaves_out: bool = False  # the case does without it


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to fix; a warning does not stop the work."""

    code: str
    where: str  # the place in the user's words: "tuner 'T_D'", "case 'run 1'"
    message: str
    suggestion: str = ""
    warning: bool = False
    place: tuple[str | int, ...] = field(default=(), compare=False)  # in the file, where known
    note: bool = False  # a warning that asks for nothing: it says what was done
    fixes: tuple[Fix, ...] = field(default=(), compare=False)  # one of which will do

    @property
    def severity(self) -> str:
        """`error`, `warning` or `note`."""
        return "note" if self.note else "warning" if self.warning else "error"

    @property
    def text(self) -> str:
        """The whole sentence."""
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.message}" + (f"; {self.suggestion}" if self.suggestion else "")


def raise_all(problems: list[Problem]) -> None:
    """Raise one error that names every problem which is not a warning; nothing where there is none.

    The error of a single problem carries that problem's own code.
    """
    errors = [p for p in problems if not p.warning]
    if len(errors) == 1:
        raise _error(errors[0])
    if errors:
        lines = "".join(f"\n  {p.code}: {p.text}" for p in errors)
        raise StudyError("Q001", f"{len(errors)} things to fix:{lines}")


def _error(problem: Problem) -> EstimicaError:
    from estimica.base.errors import CaseError, DataError, DesignError, TunerError

    kinds = {"T": TunerError, "C": CaseError, "D": DataError, "O": DesignError}
    return kinds.get(problem.code[0], StudyError)(problem.code, problem.text)
