"""The page about a result goes into the store with its run; a page never fails a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from estimica.apps.cli.console import say

if TYPE_CHECKING:
    from estimica.execute.runs.writer import RunWriter


def keep_page(found: Any, writer: RunWriter) -> None:
    """Keep the page of a result before its run ends; what goes wrong is only told."""
    if not writer.id:  # no store
        return
    try:
        from estimica.base.view_json import page_to_json

        writer.keep_page(page_to_json(found.page()))
    except KeyboardInterrupt:  # an impatient second Ctrl-C must not lose the result itself
        say("warning: the run is stored without its page")
    except Exception as error:
        say(f"warning: the run is stored without its page: {error}")
