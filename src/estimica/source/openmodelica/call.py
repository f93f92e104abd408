"""OpenModelica as the front end: its compiler `omc` writes Base Modelica, which is read here.

omc --baseModelica -i=Class File.mo Library/package.mo
"""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from estimica.base.code.consent import require_agreed
from estimica.base.errors import SourceError
from estimica.flat.system import FlatSystem
from estimica.source.base_modelica.load import base_modelica_system
from estimica.source.cache import fingerprint, key_of, read_flat, write_flat
from estimica.source.fixed_values import WRAPPER, FixedValue, check_fixed_names, wrapper_text
from estimica.source.libraries.search import Library, enclosing_package, libraries_given
from estimica.source.openmodelica.files import own_root, read_files
from estimica.source.request import Request, read_request
from estimica.source.syntax.contents import experiment_of

_COMPILER = "omc"
_HEADER = "//! base"
_MESSAGE = re.compile(r"^(?:\[(?P<file>[^\]]*?):(?P<line>\d+):[^\]]*\] )?Error: (?P<text>.*)$")
#: more messages of the compiler than this help nobody
_MOST = 5


def load_with_openmodelica(
    source: str | Path,
    class_name: str | None = None,
    *,
    fix: Mapping[str, FixedValue] | None = None,
    libraries: Sequence[Path] = (),
    cache: bool = True,
    time_limit: float = 120.0,
) -> FlatSystem:
    """The class `class_name` of `source`, flattened by OpenModelica's compiler.

    Arguments as those of `load_flat`; `time_limit` is in seconds.
    """
    compiler = _compiler()
    request = read_request(source, class_name, libraries)
    run = _Run(compiler, request, _own_file(source, libraries), tuple(libraries), time_limit)
    plain = run.system({}, None, cache)
    if not fix:
        return plain
    check_fixed_names(fix, plain)
    return run.system(dict(fix), plain, cache)


def _compiler() -> Path:
    path = shutil.which(_COMPILER)
    if path is None:
        raise SourceError(
            "S220",
            'frontend "openmodelica" calls OpenModelica\'s compiler, but there is no omc on the '
            "PATH; install OpenModelica (openmodelica.org), or write the text on a computer that "
            "has it, by omc --baseModelica -i=Class File.mo > Class.bmo, and load Class.bmo",
        )
    return Path(path)


def _own_file(source: str | Path, libraries: Sequence[Path]) -> Path | None:
    """The file that holds the class; of a package the outermost one.

    None for a text, and for a class of a library of this machine.
    """
    path = Path(source) if "\n" not in str(source) else None
    if path is None or not os.path.exists(path):
        first = str(source).partition(".")[0]
        given = [lib for path in libraries for lib in libraries_given(path) if lib.name == first]
        return given[0].main_file if given and path is not None else None
    top = enclosing_package(path)
    return top / "package.mo" if top is not None else path


@dataclass(frozen=True, slots=True)
class _Run:
    """The compiler with one class."""

    compiler: Path
    request: Request
    file: Path | None
    given: tuple[Path, ...]
    time_limit: float

    def system(
        self, fix: Mapping[str, FixedValue], plain: FlatSystem | None, cache: bool
    ) -> FlatSystem:
        """The class with the modifiers `fix`; `plain` is the class without them."""
        request = self.request
        key = key_of(
            "openmodelica",
            fingerprint([self.compiler]),
            request.class_name,
            request.label,
            sorted((k, type(v).__name__, v) for k, v in fix.items()),
            request.state(),
        )
        system = read_flat(key) if cache else None
        if system is None:
            system = self._flattened(fix, plain)
            if cache:
                write_flat(key, system)
        return system.named(key if cache else "")

    def _flattened(self, fix: Mapping[str, FixedValue], plain: FlatSystem | None) -> FlatSystem:
        request = self.request
        text = self._text(fix, plain)
        system = base_modelica_system(text, f"{request.class_name}.bmo")
        definition = request.definition()
        suggested = experiment_of(definition) if definition is not None else system.experiment
        return dataclasses.replace(
            system,
            name=request.class_name,
            description=system.description or (definition.description if definition else ""),
            experiment=suggested if suggested.stop is not None else system.experiment,
            source=request.label or "text",
        )

    def _text(self, fix: Mapping[str, FixedValue], plain: FlatSystem | None) -> str:
        with tempfile.TemporaryDirectory(prefix="estimica-omc-") as name:
            folder = Path(os.path.realpath(name))
            copies = self._copied(folder)
            model, files = self._files(folder, copies, fix, plain)
            command = [str(self.compiler), "--baseModelica", f"-i={model}", *files]
            try:
                done = subprocess.run(
                    command,
                    cwd=folder,
                    capture_output=True,
                    timeout=self.time_limit,
                    stdin=subprocess.DEVNULL,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                raise SourceError(
                    "S221",
                    f"class '{self.request.class_name}': omc did not finish within "
                    f"{self.time_limit:g} s and was stopped; raise time_limit, or simplify the "
                    "class",
                ) from None
            except OSError as reason:
                raise SourceError(
                    "S222", f"{self.compiler} cannot be run ({reason}); install OpenModelica anew"
                ) from None
        output = done.stdout.decode(errors="replace")
        errors = done.stderr.decode(errors="replace")
        begin = output.find(_HEADER)
        if begin < 0 or done.returncode != 0:
            raise self._refused(output[: max(begin, 0) or None] + "\n" + errors, folder)
        return _in_place(output[begin:], copies)

    def _copied(self, folder: Path) -> dict[Path, Path]:
        """A private copy of what the study brings, by its root; what it holds must be agreed to.

        Libraries of this machine are read in their places.
        """
        roots = [] if self.file is None else [own_root(self.file)]
        roots += [library.root for library in self._libraries() if self._is_given(library)]
        copies: dict[Path, Path] = {}
        for root in dict.fromkeys(roots):
            copy = folder / f"{len(copies)}"
            require_agreed(read_files(root, copy).listed())
            copies[root] = copy / root.name
        return copies

    def _files(
        self,
        folder: Path,
        copies: Mapping[Path, Path],
        fix: Mapping[str, FixedValue],
        plain: FlatSystem | None,
    ) -> tuple[str, list[str]]:
        """The class to be flattened, and what the compiler is to read for it."""
        files: list[Path | str] = []
        model = self.request.class_name
        if fix or (self.file is None and not self.request.texts):
            (folder / f"{WRAPPER}.mo").write_text(wrapper_text(model, fix, plain), encoding="utf-8")
            files, model = [folder / f"{WRAPPER}.mo"], WRAPPER
        if self.file is not None:
            files.append(_main_file(copies[own_root(self.file)]))
        elif self.request.texts:
            path = folder / "text.mo"
            path.write_text(self.request.texts[-1].source.text, encoding="utf-8")
            if not self.request.label:  # else a library of this machine
                require_agreed(read_files(path).listed())
            files.append(path)
        files += [self._named(library, copies) for library in self._libraries()]
        return model, [str(f) for f in dict.fromkeys(files)]

    def _libraries(self) -> Sequence[Library]:
        """All libraries that the compiler must read besides the file of the class."""
        own = [] if self.file is not None else self.request.packages
        return [*own, *self.request.libraries()]

    def _named(self, library: Library, copies: Mapping[Path, Path]) -> Path | str:
        """A library by its name where the compiler knows it itself, else by its file."""
        if library.root in copies:
            return _main_file(copies[library.root])
        own = Path.home() / ".openmodelica" / "libraries"
        known = library.root.is_relative_to(own) or "omlibrary" in library.root.parts
        return library.name if known else library.main_file.resolve()

    def _is_given(self, library: Library) -> bool:
        return any(library.root.is_relative_to(g) for g in self.given)

    def _refused(self, output: str, folder: Path) -> SourceError:
        messages = [m for line in output.splitlines() if (m := _MESSAGE.match(line.strip()))]
        texts = [_told(m, folder) for m in messages][:_MOST]
        if not texts:
            lines = [line.strip() for line in output.splitlines() if line.strip()]
            texts = lines[-_MOST:] or ["it wrote nothing"]
        label = Path(self.request.label).name if self.request.label else "text"
        return SourceError(
            "S223",
            f"class '{self.request.class_name}' ({label}): OpenModelica could not flatten it: "
            + "; ".join(dict.fromkeys(texts)),
        )


def _main_file(root: Path) -> Path:
    return root / "package.mo" if root.is_dir() else root


def _in_place(text: str, copies: Mapping[Path, Path]) -> str:
    """The compiler's text with the paths of the files themselves: the copies are gone soon."""
    for root, copy in copies.items():
        text = text.replace(str(copy), str(root.resolve()))
    return text


def _told(message: re.Match[str], folder: Path) -> str:
    if not message["file"]:
        return message["text"]
    path = Path(message["file"])
    name = "text" if path.parent == folder else path.name
    return f"{name}:{message['line']}: {message['text']}"
