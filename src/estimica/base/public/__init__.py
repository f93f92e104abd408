"""What a user of the package meets first: calls, their mistakes, and how far they are."""
