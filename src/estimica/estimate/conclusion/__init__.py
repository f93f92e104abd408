"""From the end of a search to a fit: accuracy, freedom, likelihood, advice, status."""
