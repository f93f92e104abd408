"""Trade-offs between criteria."""
