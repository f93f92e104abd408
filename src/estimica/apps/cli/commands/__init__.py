"""The commands of the terminal, one a file; `app` puts them together."""
