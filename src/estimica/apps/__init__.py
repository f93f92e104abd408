"""What people start: the command line, later the workbench in the browser."""
