"""`estimica schema`: the JSON Schema of study files, for editors that complete and check them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from estimica.apps.cli.console import print_line, reported, say
from estimica.apps.cli.delivery import require_outputs
from estimica.base.files.write import write_text


def schema(
    output: Annotated[Path | None, typer.Option(help="Write it to this file.")] = None,
) -> None:
    """Print the JSON Schema of study files."""
    with reported("schema", as_json=False):
        from estimica.study.tables.schema import study_schema

        require_outputs(output)
        text = json.dumps(study_schema(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        if output is None:
            print_line(text.rstrip("\n"))
            return
        say(f"wrote {write_text(output, text)}")
