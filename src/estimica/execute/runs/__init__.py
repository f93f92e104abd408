"""Stored runs: the database, checkpoints, fingerprints of what was run."""
