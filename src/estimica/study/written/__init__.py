"""A study as a study file, with the files beside it that it needs."""
