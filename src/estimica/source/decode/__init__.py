"""From the JSON of a flat model to a flat system."""
