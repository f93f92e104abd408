"""Names of files as models write them: paths and URIs of resources in libraries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

from estimica.source.evaluate.values import ValueMismatch
from estimica.source.external.host import Host


def resource_path(uri: str, package_folder: Callable[[str], Path | None]) -> Path:
    """The file of `modelica://Package.Sub/folder/file`, `file://…` or of a plain path."""
    scheme, separator, rest = uri.partition("://")
    if not separator:
        return Path(uri)
    match scheme.lower():
        case "file":
            # the host between the second and third slash is empty on one's own computer
            return Path(unquote(rest))
        case "modelica":
            package, _, path = rest.partition("/")
            folder = package_folder(package)
            if folder is None:
                raise ValueMismatch(
                    f"'{uri}' names the package '{package}', which is not loaded; add its library "
                    "or give the path of the file"
                )
            return folder / unquote(path)
    raise ValueMismatch(f"'{uri}' is neither a path nor a modelica:// or file:// address")


def file_path(host: Host, name: str) -> Path:
    """The file that `name` means: as it stands, else beside the file that names it."""
    path = resource_path(name, host.names.package_folder)
    beside = Path(host.place.file).parent / path if host.place.file else path
    if not path.is_absolute() and not path.exists() and beside.exists():
        return beside
    return path
