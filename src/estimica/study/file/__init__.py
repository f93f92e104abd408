"""Study files: read, edited, saved, and the code they name."""
