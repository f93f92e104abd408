"""Functions of the language that stay functions in the flat system."""
