"""The workbench: studies set up, watched and read in the browser."""
