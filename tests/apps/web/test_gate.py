"""The gate: pages of other sites, other names of this machine and missing tokens are refused."""

from __future__ import annotations

import socket
import warnings
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from estimica.apps.web import guard as gate_module
from estimica.apps.web.guard import FOREIGN_PAGE, HEADERS, RequestGuard
from estimica.apps.web.session.settings import Settings, settings_for
from estimica.base.errors import WebError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # which version of httpx Starlette would rather have
    from starlette.testclient import TestClient

TOKEN = "a-token-that-nobody-guesses"
HERE = "http://localhost:8231"
METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH"]
WS = "ws://localhost:8231/_nicegui_ws/socket.io/?transport=websocket"
EVIL = "https://evil.example"


class Workbench:
    """A tiny application that notes what got through to it."""

    def __init__(self) -> None:
        self.reached: list[str] = []
        routes = [
            Route("/own-policy", self.own_policy),
            Route("/live", self.live),
            Route("/upload", self.taken, methods=["POST"]),
            WebSocketRoute("/_nicegui_ws/socket.io/", self.talk),
            Route("/{path:path}", self.page, methods=METHODS),
        ]
        self.app = Starlette(routes=routes)

    async def page(self, request: Request) -> HTMLResponse:
        body = await request.body()
        self.reached.append(f"{request.method} {request.url.path} {len(body)}")
        return HTMLResponse("<p>workbench</p>")

    async def taken(self, request: Request) -> PlainTextResponse:
        size = 0
        async for chunk in request.stream():
            size += len(chunk)
        self.reached.append(f"upload {size}")
        return PlainTextResponse(str(size))

    async def own_policy(self, request: Request) -> HTMLResponse:
        return HTMLResponse("<script>1</script>", headers=FOREIGN_PAGE)

    async def live(self, request: Request) -> StreamingResponse:
        async def lines() -> AsyncIterator[str]:
            for k in range(3):
                yield f"data: {k}\n\n"

        return StreamingResponse(lines(), media_type="text/event-stream")

    async def talk(self, websocket: WebSocket) -> None:
        self.reached.append("websocket")
        await websocket.accept()
        await websocket.send_text("hello")
        await websocket.close()


def refused(client: TestClient, headers: dict[str, str]) -> str:
    """Why a websocket was refused."""
    with (
        pytest.raises(WebSocketDisconnect) as closed,
        client.websocket_connect(WS, headers=headers),
    ):
        pass
    assert closed.value.code == 1008
    return closed.value.reason


@pytest.fixture
def workbench() -> Workbench:
    return Workbench()


def client(workbench: Workbench, at: str = HERE, **settings: Any) -> TestClient:
    asked = Settings(folder=Path("."), upload_limit=2_000_000, **settings)
    return TestClient(RequestGuard(workbench.app, asked), base_url=at, follow_redirects=False)


@pytest.fixture
def open_(workbench: Workbench) -> Iterator[TestClient]:
    with client(workbench) as found:
        yield found


@pytest.fixture
def locked(workbench: Workbench) -> Iterator[TestClient]:
    with client(workbench, host="0.0.0.0", token=TOKEN) as found:
        yield found


# --- names of this machine -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["localhost:8231", "127.0.0.1:8231", "[::1]:8231", "LOCALHOST:8231"]
)
def test_names_of_this_machine_are_let_through(open_: TestClient, host: str) -> None:
    assert open_.get("/", headers={"host": host}).status_code == 200


REBOUND = [
    "evil.example:8231",
    "evil.example",
    "localhost",
    "localhost:80",
    "localhost:8231.evil.example",
    "localhost.evil.example:8231",
    "127.0.0.1.nip.io:8231",
    "192.168.1.7:8231",
    "0.0.0.0:8231",
    "localhost:8231@evil.example",
    "",
]


@pytest.mark.parametrize("host", REBOUND)
@pytest.mark.parametrize("path", ["/", "/study/boiler.toml", "/live", "/_nicegui_ws/socket.io/"])
def test_a_name_that_another_site_points_here_is_refused(
    open_: TestClient, workbench: Workbench, host: str, path: str
) -> None:
    answer = open_.get(path, headers={"host": host, "origin": f"http://{host}"})
    assert answer.status_code == 421
    assert answer.json() == {"error": "this server is not known by that name"}
    assert "not known by that name" in refused(open_, {"host": host})
    assert not workbench.reached


def test_a_request_with_two_hosts_is_refused(open_: TestClient, workbench: Workbench) -> None:
    two = [("host", "localhost:8231"), ("host", "evil.example")]
    assert open_.get("/", headers=two).status_code == 400
    assert not workbench.reached


def test_a_server_for_others_knows_its_numbers_and_its_names(workbench: Workbench) -> None:
    bearer = {"authorization": f"Bearer {TOKEN}"}
    with client(workbench, host="0.0.0.0", token=TOKEN, names=("bench.example",)) as found:
        for host in (
            "192.168.1.7",
            "[fe80::1]",
            "bench.example",
            socket.gethostname(),
            "localhost",
        ):
            asked = found.get("/", headers={"host": f"{host}:8231", **bearer})
            assert asked.status_code == 200
        for host in ("evil.example:8231", "192.168.1.7:80", "bench.example:1"):
            assert found.get("/", headers={"host": host, **bearer}).status_code == 421


# --- pages of other sites ------------------------------------------------------------------------

FOREIGN = [
    EVIL,
    "null",
    "http://localhost:9000",
    "http://evil.localhost:8231",
    f"{HERE}.evil.example",
]


@pytest.mark.parametrize("origin", FOREIGN)
@pytest.mark.parametrize("method", [*METHODS, "OPTIONS"])
def test_requests_of_another_origin_are_refused(
    open_: TestClient, workbench: Workbench, origin: str, method: str
) -> None:
    answer = open_.request(method, "/study/boiler.toml", headers={"origin": origin})
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers
    assert not workbench.reached


@pytest.mark.parametrize("origin", FOREIGN)
def test_websockets_of_another_origin_are_refused(
    open_: TestClient, workbench: Workbench, origin: str
) -> None:
    headers = {"origin": origin}
    assert "another site" in refused(open_, headers)
    polling = "/_nicegui_ws/socket.io/?transport=polling"
    assert open_.post(polling, headers=headers, content=b"x").status_code == 403
    assert not workbench.reached


def test_our_own_page_may_do_everything(open_: TestClient, workbench: Workbench) -> None:
    for method in METHODS:
        assert open_.request(method, "/x", headers={"origin": HERE}).status_code == 200
    assert open_.post("/x", headers={"sec-fetch-site": "same-origin"}).status_code == 200
    with open_.websocket_connect(WS, headers={"origin": HERE}) as talk:
        assert talk.receive_text() == "hello"
    live = open_.get("/live", headers={"sec-fetch-site": "same-origin"})
    assert live.text.count("data:") == 3


def test_what_changes_something_names_its_origin(open_: TestClient, workbench: Workbench) -> None:
    for method in METHODS[1:]:
        assert open_.request(method, "/x").status_code == 403
    assert "names its origin" in refused(open_, {})
    assert not workbench.reached


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_may_link_to_the_start_page_and_nothing_else(
    open_: TestClient, workbench: Workbench, site: str
) -> None:
    link = {"sec-fetch-site": site, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert open_.get("/", headers=link).status_code == 200
    workbench.reached.clear()
    assert open_.get("/study/boiler.toml", headers=link).status_code == 403
    assert open_.post("/", headers=link).status_code == 403
    for kind in ({"sec-fetch-dest": "iframe"}, {"sec-fetch-mode": "no-cors"}):
        assert open_.get("/", headers={**link, **kind}).status_code == 403
    image = {"sec-fetch-site": site, "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}
    assert open_.get("/live", headers=image).status_code == 403
    assert not workbench.reached


def test_a_refusal_is_a_page_for_people(open_: TestClient) -> None:
    answer = open_.get("/x", headers={"origin": EVIL, "accept": "text/html"})
    assert "This comes from a page of another site." in answer.text
    assert answer.headers["content-type"].startswith("text/html")


# --- the token -----------------------------------------------------------------------------------


def test_without_the_token_nothing_is_reached(locked: TestClient, workbench: Workbench) -> None:
    wrong = [
        {},
        {"authorization": f"Bearer {TOKEN}x"},
        {"authorization": f"Basic {TOKEN}"},
        {"authorization": TOKEN},
        {"cookie": f"estimica-8231={TOKEN}"},
        {"cookie": "estimica-8231="},
        {"cookie": "estimica-8231=ä".encode()},
    ]
    for headers in wrong:
        for path in (
            "/",
            "/study/x.toml",
            "/live",
            "/_nicegui_ws/socket.io/",
            "/?token=",
            "/?token=x",
        ):
            answer = locked.get(path, headers=headers)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"] == "Bearer"
            assert "set-cookie" not in answer.headers
        assert locked.post("/x", headers={"origin": HERE, **headers}).status_code == 401
    assert "asks for a token" in refused(locked, {"origin": HERE})
    assert not workbench.reached


def test_the_printed_address_becomes_a_cookie_and_a_plain_address(
    locked: TestClient, workbench: Workbench
) -> None:
    answer = locked.get(f"/study/a b.toml?token={TOKEN}&at=tune")
    assert answer.status_code == 200
    assert not workbench.reached
    assert 'content="0;url=/study/a%20b.toml?at=tune"' in answer.text
    assert TOKEN not in answer.text
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("estimica-8231=")
    assert "HttpOnly; SameSite=Strict; Path=/" in cookie
    assert TOKEN not in cookie
    assert locked.get("/study/a b.toml").status_code == 200
    with locked.websocket_connect(WS, headers={"origin": HERE}) as talk:
        assert talk.receive_text() == "hello"
    assert locked.post("/x", headers={"origin": EVIL}).status_code == 403
    assert locked.post("/x", headers={"origin": HERE}).status_code == 200
    assert workbench.reached == ["GET /study/a b.toml 0", "websocket", "POST /x 0"]


@pytest.mark.parametrize(
    "path", ["//evil.example/", '/"><script>alert(1)</script>', "/\\evil.example"]
)
def test_the_way_on_stays_on_this_server(locked: TestClient, path: str) -> None:
    answer = locked.get(f"{HERE}{path}", params={"token": TOKEN, "x": '"><script>'})
    assert "url=//" not in answer.text
    assert "url=/\\" not in answer.text
    assert "<script>" not in answer.text


def test_programs_bring_the_token_with_each_request(locked: TestClient) -> None:
    bearer = {"authorization": f"Bearer {TOKEN}"}
    assert locked.get("/", headers=bearer).status_code == 200
    assert locked.post("/x", headers=bearer).status_code == 200
    with locked.websocket_connect(WS, headers=bearer) as talk:
        assert talk.receive_text() == "hello"
    assert locked.post("/x", headers={**bearer, "origin": EVIL}).status_code == 403


def test_a_post_cannot_bring_the_token_in_its_address(
    locked: TestClient, workbench: Workbench
) -> None:
    assert locked.post(f"/x?token={TOKEN}", headers={"origin": HERE}).status_code == 401
    assert not workbench.reached


# --- sizes and headers ---------------------------------------------------------------------------


def test_large_bodies_are_refused_whether_they_say_so_or_not(
    open_: TestClient, workbench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate_module, "BODY", 1000)
    own = {"origin": HERE}

    def stream(size: int) -> Iterator[bytes]:
        for _ in range(size // 100):
            yield bytes(100)

    assert open_.post("/x", content=bytes(1000), headers=own).status_code == 200
    assert open_.post("/x", content=bytes(1001), headers=own).status_code == 413
    assert open_.post("/x", content=stream(2000), headers=own).status_code == 413
    assert open_.post("/x", headers={**own, "content-length": "-1"}).status_code == 413
    assert workbench.reached == ["POST /x 1000"]
    assert open_.post("/upload", content=bytes(2_000_000), headers=own).status_code == 200
    assert open_.post("/upload", content=stream(2_200_000), headers=own).status_code == 413
    assert open_.post("/upload", content=bytes(2_200_000), headers=own).status_code == 413
    assert workbench.reached[1:] == ["upload 2000000"]


def test_every_answer_carries_the_headers(open_: TestClient) -> None:
    for answer in (open_.get("/"), open_.get("/live"), open_.get("/", headers={"origin": EVIL})):
        assert {n: answer.headers[n] for n in HEADERS} == HEADERS
    assert "frame-ancestors 'self'" in HEADERS["content-security-policy"]
    assert HEADERS["x-content-type-options"] == "nosniff"


def test_a_page_of_the_folder_keeps_its_own_stricter_policy(open_: TestClient) -> None:
    policies = open_.get("/own-policy").headers.get_list("content-security-policy")
    assert policies == [FOREIGN_PAGE["content-security-policy"]]
    assert policies[0].startswith("sandbox ")
    assert "allow-same-origin" not in policies[0]


# --- settings ------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "bench.example", ""])
def test_a_server_that_others_reach_needs_a_token(tmp_path: Path, host: str) -> None:
    with pytest.raises(WebError, match="can be reached from other machines: give a token"):
        Settings(folder=tmp_path, host=host)
    with pytest.raises(WebError, match="can be reached from other machines"):
        settings_for(tmp_path, host=host, without_token=True)
    made = settings_for(tmp_path, host=host)
    assert len(made.token) >= 32
    assert made.token != settings_for(tmp_path, host=host).token
    assert f"/?token={made.token}" in made.address


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost", "::1"])
def test_a_server_of_this_machine_gets_one_and_can_do_without(tmp_path: Path, host: str) -> None:
    assert len(settings_for(tmp_path, host=host).token) >= 32
    assert settings_for(tmp_path, host=host, without_token=True).token == ""
    with pytest.raises(WebError, match="give one of them"):
        settings_for(tmp_path, host=host, without_token=True, token="a" * 32)
    assert Settings(folder=tmp_path).address == "http://127.0.0.1:8231/"
    assert Settings(folder=tmp_path, host="::1").address == "http://[::1]:8231/"
    assert Settings(folder=tmp_path).with_token().token


def test_settings_that_cannot_be_say_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"folder": tmp_path / "none"}, "there is no such folder"),
        ({"folder": tmp_path / "file"}, "it is a file"),
        ({"port": 0}, "port 0: choose one between 1 and 65535"),
        ({"token": "short"}, "at least 16 letters, digits"),
        ({"token": "sixteen letters; or more"}, "at least 16 letters, digits"),
        ({"parallel": 0}, "at least one run"),
        ({"upload_limit": 0}, "give a number of bytes"),
    ]
    for given, message in wrong:
        with pytest.raises(WebError, match=message):
            Settings(**{"folder": tmp_path, **given})
