"""Variables that become inputs: which others must become unknown."""
