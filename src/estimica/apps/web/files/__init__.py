"""The folder that the workbench shows: what lies within it, what is sent to it."""
