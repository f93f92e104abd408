"""Notifications: what went wrong with something a page was asked to do, at its lower edge."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from estimica.apps.web.session.page_words import in_page_words
from estimica.base.errors import EstimicaError


def notify_error(error: EstimicaError) -> None:
    """Say what went wrong, at the lower edge, until it is read."""
    ui.notify(
        in_page_words(error.message),
        type="negative",
        timeout=0,
        close_button="Close",
        multi_line=True,
    )


def try_or_notify(action: Callable[[], object]) -> bool:
    """Do something; where it fails by a mistake of the user's, say so. Whether it was done."""
    try:
        action()
    except EstimicaError as error:
        notify_error(error)
        return False
    return True
