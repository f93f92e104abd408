"""Methods that bring the cost down, and how they know that they are done."""
