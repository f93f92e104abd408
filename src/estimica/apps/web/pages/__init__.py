"""The pages of the workbench, one a file."""
