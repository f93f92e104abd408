"""What happens at instants: where relations change, what follows, and what delays remember."""
