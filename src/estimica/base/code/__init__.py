"""Code of others: how it is named, whether it is trusted, and the one place that runs it."""
