"""What a result found, carried into a study: as starts, as values, or written into its file."""
