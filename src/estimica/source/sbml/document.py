"""Document: the model of an SBML file, read as data, with what cannot be translated refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from estimica.base.errors import SourceError, UnsupportedError
from estimica.base.files.read import read_text
from estimica.base.suggest import did_you_mean_file
from estimica.source.sbml.mathematics import Definition, libsbml

#: bytes of a model that is read; the largest of the benchmark collection (1400 species) has 4 MB
LIMIT = 20_000_000
#: packages that change what the equations mean; layouts, renderings and annotations do not
CHANGING = frozenset({"comp", "arrays", "distrib", "multi", "qual", "spatial", "dyn"})


@dataclass(frozen=True, eq=False)
class Document:
    """A parsed model; the document is kept because the model lives in it."""

    name: str
    model: Any
    owner: Any
    label: str

    def each(self, what: str) -> Iterator[Any]:
        """The elements of a list of the model, as `each("Species")`."""
        return listed(self.model, what)

    def definitions(self) -> dict[str, Definition]:
        """The model's own functions."""
        return {f.getId(): _definition(f) for f in self.each("FunctionDefinitions")}


def listed(owner: Any, what: str) -> Iterator[Any]:
    """The elements of a list of an SBML element."""
    elements = getattr(owner, f"getListOf{what}")()
    for k in range(elements.size()):
        yield elements.get(k)


def _definition(function: Any) -> Definition:
    count = function.getNumArguments()
    names = tuple(function.getArgument(k).getName() for k in range(count))
    return Definition(names, function.getBody())


def is_sbml(path: str | PathLike[str]) -> bool:
    """Whether a name is that of an SBML file."""
    return Path(path).suffix.lower() in (".xml", ".sbml")


def read_document(path: str | PathLike[str]) -> Document:
    """The model of an SBML file."""
    path = Path(path)
    try:
        text = read_text(path, "utf-8-sig", limit=LIMIT)
    except FileNotFoundError:
        raise SourceError("S301", f"there is no file '{path}'{did_you_mean_file(path)}") from None
    except UnicodeDecodeError:
        raise SourceError("S301", f"'{path}' is not text in UTF-8; is it an SBML file?") from None
    except OSError as error:
        raise SourceError("S301", f"cannot read '{path}': {error.strerror}") from None
    return parse_document(text, path.name)


def parse_document(text: str, label: str) -> Document:
    """The model of an SBML text; `label` names it in messages."""
    lib = libsbml(f"'{label}': an SBML model")
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        # entities can grow without bound or lead to other files; no SBML model needs them
        raise SourceError("S301", f"'{label}' declares XML entities; remove its DOCTYPE")
    document = lib.readSBMLFromString(text)
    errors = document.getErrorLog()
    for k in range(document.getNumErrors()):
        error = errors.getError(k)
        if error.isFatal() or error.isError():
            said = " ".join(error.getMessage().split())
            raise SourceError("S301", f"'{label}', line {error.getLine()}: {said}")
    model = document.getModel()
    if model is None:
        raise SourceError("S301", f"'{label}' holds no SBML model")
    _refuse_packages(document, label)
    return Document(model.getId() or Path(label).stem, model, document, label)


def _is_whole(model: Any) -> bool:
    """Whether a model that declares composition is not composed of others."""
    plugin = model.getPlugin("comp")
    return plugin is None or plugin.getNumSubmodels() == 0


def _refuse_packages(document: Any, label: str) -> None:
    for k in range(document.getNumPlugins()):
        name = document.getPlugin(k).getPackageName()
        if name in CHANGING and not (name == "comp" and _is_whole(document.getModel())):
            raise UnsupportedError(
                "U062",
                f"'{label}' uses the SBML package '{name}', which is not supported; "
                "flatten the model to the core of SBML",
            )
