"""Functions named as file.py:function: one loader, which refuses in the same words for all."""

from __future__ import annotations

from pathlib import Path

import pytest

from estimica.base.code.load import CodeFailedError, FunctionMissingError, load_function
from estimica.base.code.reference import CodeRefusedError
from estimica.base.code.trusted import trusted_code

TWO = "SCALE = 3.0\n\ndef one(x):\n    return SCALE * x\n\ndef other(x):\n    return x\n"


def test_a_named_function_comes_with_the_names_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(TWO)
    loaded = load_function(trusted_code("own.py:one", tmp_path))
    assert loaded.call(2.0) == 6.0
    assert loaded.names["SCALE"] == 3.0


def test_the_only_function_of_a_file_needs_no_name_where_that_is_enough(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "import math\nfrom math import sin\n\ndef f(x):\n    return 1\n"
    )
    assert load_function(trusted_code("own.py", tmp_path), only=True).call(0) == 1


@pytest.mark.parametrize(
    ("text", "content", "kind", "message"),
    [
        ("own.py:onne", TWO, FunctionMissingError, "'own.py' has no function 'onne'; did you mean"),
        (
            "own.py:SCALE",
            TWO,
            FunctionMissingError,
            "'own.py' has no function 'SCALE'; write own.py",
        ),
        ("own.py", "1/0\n", FunctionMissingError, "'own.py' is named without its function; write"),
        ("own.py:f", "x = 1\ndef f(:\n", CodeFailedError, "'own.py', line 2: "),
        (
            "own.py:f",
            "1/0\n",
            CodeFailedError,
            "'own.py' raised ZeroDivisionError while it was read",
        ),
        ("own.py:f", "import sys\nsys.exit(3)\n", CodeFailedError, r"sys.exit\(3\)"),
    ],
)
def test_what_is_wrong_is_said(
    tmp_path: Path, text: str, content: str, kind: type[CodeRefusedError], message: str
) -> None:
    (tmp_path / "own.py").write_text(content)
    with pytest.raises(kind, match=message):
        load_function(trusted_code(text, tmp_path))


@pytest.mark.parametrize(
    ("content", "kind", "message"),
    [
        (b"# caf\xe9\n", CodeFailedError, r"'own\.py': invalid or missing encoding declaration"),
        (b"x = 1\n\n# caf\xe9\n", CodeRefusedError, r"'own\.py' cannot be read: "),
    ],
)
def test_a_file_in_another_encoding_cannot_be_read(
    tmp_path: Path, content: bytes, kind: type[CodeRefusedError], message: str
) -> None:
    (tmp_path / "own.py").write_bytes(content)
    with pytest.raises(kind, match=message):
        load_function(trusted_code("own.py:f", tmp_path))
