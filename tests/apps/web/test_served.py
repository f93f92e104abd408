"""The real server, attacked from outside: refused, and nothing in or beside the folder changes."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("nicegui", reason="the workbench needs estimica[web]")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals differ")

EVIL = "https://evil.example"
SECRET = "the secret of another folder"
HANDSHAKE = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version": "13",
}
SOCKET = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"


@dataclass(frozen=True)
class Server:
    """A server in a process of its own."""

    port: int
    folder: Path
    said: str

    @property
    def own(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self, path: str, method: str = "GET", body: bytes | None = None, **headers: str
    ) -> tuple[int, str, dict[str, str]]:
        """(status, text, headers) of an answer."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        named = {n.replace("_", "-"): v for n, v in headers.items()}
        try:
            line.putrequest(method, path, skip_host="host" in headers)
            for name, value in named.items():
                line.putheader(name, value)
            if body is not None:
                line.putheader("Content-Length", str(len(body)))
            line.endheaders(body)
            answer = line.getresponse()
            text = "" if answer.status == 101 else answer.read().decode("utf-8", "replace")
            return answer.status, text, {n.lower(): v for n, v in answer.getheaders()}
        finally:
            line.close()


def served(folder: Path, *options: str) -> Iterator[Server]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-P", "-m", "estimica", "serve", str(folder), "--no-open"]
    process = subprocess.Popen(
        [*command, "--port", str(port), *options],
        cwd=folder.parent / "elsewhere",
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        # NiceGUI would take itself to be under test
        env={n: v for n, v in os.environ.items() if not n.startswith(("PYTEST", "NICEGUI"))},
    )
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        server = Server(port, folder, said)
        for _ in range(600):
            try:
                server.ask("/")
                break
            except OSError:
                assert process.poll() is None, said + process.stderr.read()
                time.sleep(0.1)
        yield server
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def a_folder(place: Path) -> Path:
    folder = place / "served"
    (folder / "sub").mkdir(parents=True)
    (place / "elsewhere").mkdir()
    (place / "secret.toml").write_text(f"# {SECRET}\n[tune]\na = 1\n")
    (folder / "line.toml").write_text('[static]\nexpression = "a*x"\n[tune]\na = 1\n')
    (folder / "link.toml").symlink_to(place / "secret.toml")
    return folder


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from served(a_folder(tmp_path_factory.mktemp("open")), "--no-token")


@pytest.fixture(
    scope="module", params=[pytest.param("0.0.0.0", marks=pytest.mark.slow), "127.0.0.1"]
)
def locked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """For other machines, and as it is where nothing is said."""
    options = [] if request.param == "127.0.0.1" else ["--host", request.param]
    yield from served(a_folder(tmp_path_factory.mktemp("locked")), *options)


@pytest.fixture(autouse=True)
def nothing_is_written(request: pytest.FixtureRequest) -> Iterator[None]:
    name = "locked" if "locked" in request.fixturenames else "server"
    place = request.getfixturevalue(name).folder.parent
    before = _files(place)
    yield
    assert _files(place) == before


def _files(place: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in sorted(place.rglob("*")) if p.is_file()}


def test_the_start_page_lists_the_folder_and_carries_the_headers(server: Server) -> None:
    status, text, headers = server.ask("/")
    assert status == 200
    assert "line" in text
    assert "frame-ancestors 'self'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert server.said.startswith("Estimica serves ")
    assert "token" not in server.said


@pytest.mark.parametrize(
    "path", ["/", "/study/line.toml", "/_nicegui_ws/socket.io/?EIO=4&transport=polling"]
)
def test_other_names_and_other_sites_are_refused(server: Server, path: str) -> None:
    assert server.ask(path, host=f"evil.example:{server.port}")[0] == 421
    assert server.ask(path, origin=EVIL)[0] == 403
    assert server.ask(path, "POST", b"x", origin=EVIL)[0] == 403
    assert server.ask(path, "POST", b"x")[0] == 403
    assert server.ask(path, sec_fetch_site="cross-site", sec_fetch_mode="no-cors")[0] == 403


def test_a_websocket_is_for_our_own_pages(server: Server) -> None:
    assert server.ask(SOCKET, **HANDSHAKE, Origin=server.own)[0] == 101
    assert server.ask(SOCKET, **HANDSHAKE, Origin=EVIL)[0] == 403
    assert server.ask(SOCKET, **HANDSHAKE)[0] == 403
    rebound = f"evil.example:{server.port}"
    assert server.ask(SOCKET, **HANDSHAKE, host=rebound, Origin=f"http://{rebound}")[0] == 403


@pytest.mark.parametrize("room", ["study", "runs", "results", "live", "assets", "_nicegui"])
@pytest.mark.parametrize(
    "name",
    [
        "../secret.toml",
        "..%2fsecret.toml",
        "%2e%2e/secret.toml",
        "%252e%252e%252fsecret.toml",
        "sub/..%2f..%2fsecret.toml",
        "..%5csecret.toml",
        "link.toml",
        "%2fetc%2fpasswd",
        "/etc/passwd",
        ".estimica/runs.sqlite",
        "line.toml%00",
    ],
)
def test_no_address_leads_out_of_the_folder(server: Server, room: str, name: str) -> None:
    status, text, _ = server.ask(f"/{room}/{name}")
    assert status < 500
    assert SECRET not in text
    assert "root:" not in text


def test_uploads_of_other_sites_and_of_nobody_are_refused(server: Server) -> None:
    path = "/_nicegui/client/none/upload/1"
    body = b'--x\r\nContent-Disposition: form-data; name="f"; filename="../x.csv"\r\n\r\n1\r\n--x--'
    kind = "multipart/form-data; boundary=x"
    assert server.ask(path, "POST", body, origin=EVIL, content_type=kind)[0] == 403
    assert server.ask(path, "POST", body, content_type=kind)[0] == 403
    assert server.ask(path, "POST", body, origin=server.own, content_type=kind)[0] == 404
    large = {"origin": server.own, "content_length": "10000000000"}
    assert server.ask(path, "POST", **large)[0] == 413
    assert server.ask("/", "POST", **{**large, "content_length": "5000000"})[0] == 413


def test_a_server_asks_for_the_printed_token(locked: Server) -> None:
    found = re.search(r"token=([\w-]{32,})", locked.said)
    assert found
    for path in ("/", "/study/line.toml", "/_nicegui_ws/socket.io/?EIO=4&transport=polling"):
        status, text, _ = locked.ask(path, accept="text/html")
        assert status == 401
        assert "line.toml" not in text
        assert 'name="token"' in text
    assert locked.ask("/?token=wrong")[0] == 401
    assert locked.ask(SOCKET, **HANDSHAKE, Origin=locked.own)[0] == 403
    status, text, headers = locked.ask(f"/?token={found[1]}")
    assert status == 200
    assert found[1] not in text
    cookie = headers["set-cookie"].partition(";")[0]
    status, text, _ = locked.ask("/", cookie=cookie)
    assert status == 200
    assert "line" in text
    assert locked.ask(SOCKET, **HANDSHAKE, Origin=locked.own, Cookie=cookie)[0] == 101
    assert locked.ask(SOCKET, **HANDSHAKE, Origin=EVIL, Cookie=cookie)[0] == 403
    assert locked.ask("/", authorization=f"Bearer {found[1]}")[0] == 200
