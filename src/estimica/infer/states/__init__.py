"""States: what the data tell of them, and of what their equations lack."""
