"""Leave a relation out, let the data drive the rest, and rank the laws that it could be."""
