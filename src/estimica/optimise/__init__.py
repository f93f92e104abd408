"""Which parameters make a design good, and how robust it is."""
