"""Guarded: a page that cannot be shown says why, and leads back."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import ui

from estimica.apps.web.parts.frame import frame
from estimica.apps.web.session.workbench import Workbench
from estimica.base.errors import EstimicaError

Page = Callable[..., Awaitable[None] | None]


def with_error_page(workbench: Workbench) -> Callable[[Page], Callable[..., Awaitable[None]]]:
    """Have a page show errors of the user's as a page of their own."""

    def around(page: Page) -> Callable[..., Awaitable[None]]:
        @functools.wraps(page)
        async def shown(*args: Any, **kwargs: Any) -> None:
            try:
                made = page(*args, **kwargs)
                if inspect.isawaitable(made):
                    await made
            except EstimicaError as error:
                ui.context.client.content.clear()
                with ui.context.client.content:
                    error_page(workbench, error)

        return shown

    return around


def error_page(workbench: Workbench, error: EstimicaError) -> None:
    """The page of an error."""
    with frame(workbench, "Not possible"):
        ui.label("This page cannot be shown").classes("est-title")
        with ui.column().classes("est-card"):
            ui.label(error.message).classes("est-pre")
            ui.label(f"Code {error.code}").classes("est-soft")
            ui.link("All studies of this folder", "/")


async def show_when_loaded(shown: Awaitable[None]) -> None:
    """Fill the page once the browser has it: what a model is asked for may take its time."""
    with ui.row().classes("est-empty items-center justify-center") as waiting:
        ui.spinner(size="md")
        ui.label("Model and data are read …")
    try:
        await ui.context.client.connected(timeout=30.0)
    except BaseException as error:  # nobody waits any more, or the server ends
        if inspect.iscoroutine(shown):
            shown.close()
        if isinstance(error, TimeoutError):
            return
        raise
    try:
        await shown
    except EstimicaError as error:
        with ui.column().classes("est-card"):
            ui.label("This page cannot be shown").classes("est-title")
            ui.label(error.message).classes("est-pre")
            ui.label(f"Code {error.code}").classes("est-soft")
    finally:
        if not waiting.is_deleted:
            waiting.delete()
