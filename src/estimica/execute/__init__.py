"""Who does the work, and where it is written down: executors and the store of runs."""
