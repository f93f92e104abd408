"""Monitor: estimation while data arrive, and the detection of changes."""
