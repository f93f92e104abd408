"""What a running command tells, passed on to all who watch it."""
