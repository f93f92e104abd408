"""Search methods, one a file, and what they share."""
