"""Files: which may be read, how they are written whole or not at all, TOML texts."""
