"""Where libraries are found, and the text of their packages."""
