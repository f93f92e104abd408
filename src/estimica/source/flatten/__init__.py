"""From the instance tree to the flat system."""
