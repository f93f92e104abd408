"""`estimica schema`: the JSON Schema of study files, for editors that complete and check them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from estimica.apps.cli.console import print_line, reported, say
from estimica.base.errors import ReportError


def schema(
    output: Annotated[Path | None, typer.Option(help="Write it to this file.")] = None,
) -> None:
    """Print the JSON Schema of study files."""
    with reported("schema", as_json=False):
        from estimica.study.schema import study_schema

        text = json.dumps(study_schema(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        if output is None:
            print_line(text.rstrip("\n"))
            return
        try:
            output.write_text(text, encoding="utf-8")
        except OSError as error:
            raise ReportError("P001", f"cannot write '{output}': {error.strerror}") from None
        say(f"wrote {output}")
