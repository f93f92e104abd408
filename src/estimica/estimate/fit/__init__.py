"""The fit: a frozen value that shows, draws and writes itself."""
