"""The cost along each unknown, with the others fitted."""
