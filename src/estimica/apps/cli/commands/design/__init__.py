"""Commands that search and assess designs."""
