"""Settings: what is served, to whom, and within which limits."""

from __future__ import annotations

import ipaddress
import secrets
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from estimica.base.errors import WebError

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
ANYWHERE = ("0.0.0.0", "::", "")
MEGABYTE = 1_000_000
SHORTEST = 16  # characters of a token that nobody guesses: 96 bits where they are random


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine reach a server that listens there."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What `estimica serve` was asked for; a server that other machines reach has a token."""

    folder: Path
    host: str = "127.0.0.1"
    port: int = 8231
    token: str = ""
    upload_limit: int = 200 * MEGABYTE
    parallel: int = 1
    open: bool = True
    names: tuple[str, ...] = ()  # further names that browsers may call this server by

    def __post_init__(self) -> None:
        folder = self.folder.expanduser()
        if not folder.is_dir():
            why = "it is a file" if folder.exists() else "there is no such folder"
            raise WebError("G001", f"cannot serve '{self.folder}': {why}")
        object.__setattr__(self, "folder", folder.resolve())
        if not 0 < self.port < 65536:
            raise WebError("G002", f"port {self.port}: choose one between 1 and 65535")
        if self.parallel < 1:
            raise WebError("G003", f"parallel {self.parallel}: at least one run goes on at a time")
        if self.upload_limit < 1:
            raise WebError("G003", f"upload_limit {self.upload_limit}: give a number of bytes")
        if not self.token and not self.is_loopback:
            raise WebError(
                "G004",
                f"host '{self.host}' can be reached from other machines: give a token, as in "
                f"--token {secrets.token_urlsafe(24)}, or leave --host out",
            )
        if self.token and (len(self.token) < SHORTEST or not _plain(self.token)):
            raise WebError(
                "G005",
                f"the token needs at least {SHORTEST} letters, digits, '-' or '_', so that nobody "
                "guesses it; leave it out and one is made",
            )

    def with_token(self) -> Self:
        """With a token of its own making, where there is none."""
        return self if self.token else replace(self, token=secrets.token_urlsafe(24))

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches the server."""
        return is_loopback(self.host)

    @property
    def address(self) -> str:
        """Where a browser of this machine finds the start page, with the token."""
        host = "localhost" if self.host in ANYWHERE else self.host.strip("[]")
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self.port}{self.start_path}"

    @property
    def start_path(self) -> str:
        """The start page on this server, with the token."""
        return f"/?token={self.token}" if self.token else "/"


def settings_for(
    folder: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8231,
    token: str = "",
    upload_limit: int = 200 * MEGABYTE,
    parallel: int = 1,
    open: bool = True,
    names: tuple[str, ...] = (),
    without_token: bool = False,
) -> Settings:
    """Settings of a server; it gets a token if none is given, unless it is to have none.

    Other users and programs of a machine reach what listens on it, too.
    """
    if token and without_token:
        raise WebError("G005", "--token and --no-token: give one of them")
    if not token and not without_token:
        token = secrets.token_urlsafe(24)
    return Settings(
        folder=folder,
        host=host,
        port=port,
        token=token,
        upload_limit=upload_limit,
        parallel=parallel,
        open=open,
        names=names,
    )


def _plain(token: str) -> bool:
    return token.isascii() and all(c.isalnum() or c in "-_" for c in token)
