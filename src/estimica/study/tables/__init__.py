"""The tables of a study file, one a command."""
