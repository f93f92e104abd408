"""TOML texts edited in place, with comments and order kept."""
