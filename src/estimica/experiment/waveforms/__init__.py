"""The signals that excite a process, one kind a file."""
