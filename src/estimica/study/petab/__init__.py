"""PEtab: problems of the systems biologists' exchange format, read as studies and written."""
