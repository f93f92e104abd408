"""File formats, one a file: from bytes to named columns."""
