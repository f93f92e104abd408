"""Studies: what is to be found, from which data, and how disagreement is scored."""
